// Talking to the server: requests, and one socket for the game that is on the page.

import { t } from "./language.js";

/** A refusal: `message` in the person's language, `detail` the server's own sentence, `details` its data. */
export class Refused extends Error {
  constructor(status, error) {
    super(t(`error.${error.code}`));
    this.status = status;
    this.code = error.code;
    this.detail = error.message ?? "";
    this.details = error.details ?? {};
  }
}

async function request(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { code: "offline" });
  }
  if (answer.ok) return answer;
  let error;
  try {
    ({ error } = await answer.json());
  } catch {
    error = null;
  }
  throw new Refused(answer.status, error ?? { code: answer.status === 404 ? "not_found" : "bad_request" });
}

export const get = async (path) => (await request("GET", path)).json();
export const getText = async (path) => (await request("GET", path)).text();
export const post = async (path, body = {}) => (await request("POST", path, body)).json();

/** The description of games, levels and limits; asked once. */
export const about = (() => {
  let answer;
  return () => {
    answer ??= get("/api/about").catch((error) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
})();

/**
 * The stream of events of one game; it reconnects by itself until closed.
 *
 * `handlers`: functions by type of event, and `state(connected)`, `gone()` where the game is not there any more.
 */
export class Events {
  constructor(id, handlers) {
    this.id = id;
    this.handlers = handlers;
    this.wait = 250;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/api/games/${this.id}/events`);
    this.socket = socket;
    socket.onopen = () => {
      this.wait = 250;
      this.handlers.state?.(true);
    };
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      this.handlers[event.type]?.(event);
    };
    socket.onclose = ({ code }) => {
      if (this.closed) return;
      if (code === 4404) {
        this.handlers.gone?.();
        return;
      }
      this.handlers.state?.(false);
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(4000, 2 * this.wait);
    };
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
