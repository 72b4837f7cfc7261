// A game on the page: board, players, what can be done, and the panels beside it.

import { AnalysisPanel } from "./analysis.js";
import { Board } from "./board.js";
import { button, el, memory } from "./dom.js";
import { ordinal, t } from "./language.js";
import { MoveList } from "./moves.js";
import { ask, attempt, note, say } from "./notes.js";
import { actionButtons, replaceActions, seatBox, statusParts } from "./panel.js";
import { Events, get, post } from "./server.js";
import { SharePanel } from "./share.js";
import { SIDES, moveSquares, parsePosition, squareIndex, squareName } from "./squares.js";
import { tabs } from "./tabs.js";
import { endTitle, moveWords, reasonWords, squareLabel } from "./words.js";

/** #position=...: begins a game of two persons from a position and goes to it. */
export async function openPosition(host, { position, rules, to_play: side }, about) {
  const known = about.games.find(({ game }) => game === rules) ?? about.games[0];
  const made = await post("/api/games", {
    game: known.game,
    position,
    to_play: SIDES.includes(side) ? side : known.first,
  });
  history.replaceState(null, "", `#game=${made.id}`);
  return gameView(host, { game: made.id }, about);
}

export async function gameView(host, { game: id, ply }, about) {
  const game = await get(`/api/games/${encodeURIComponent(id)}`);
  const view = new GameView(
    host,
    about,
    about.games.find((rules) => rules.game === game.game),
    game,
    ply,
  );
  return () => view.close();
}

class GameView {
  constructor(host, about, rules, game, ply) {
    this.about = about;
    this.rules = rules;
    this.game = game;
    this.ply = /^\d+$/.test(ply) ? Math.min(game.ply, Number(ply)) : game.ply;
    this.offering = false;
    this.quiet = null;
    memory.set("last", game.id);
    this._build(host);
    this.board.flip(memory.get("flipped", false));
    this._show();
    this.refresh();
    this.events = new Events(game.id, {
      game: (event) => this.update(event.game),
      thinking: () => {},
      analysis: (event) => this._analysis(event),
      graph: (event) => this.analysis.graph(event),
      error: ({ error }) => note(t(`error.${error.code}`), { detail: error.message, kind: "bad" }),
      state: (connected) => this._connected(connected),
      gone: () => note(t("game.missing"), { kind: "bad" }),
    });
    this.analysis.listen(this.events);
    this.keys = (event) => this._key(event);
    addEventListener("keydown", this.keys);
  }

  close() {
    this.closed = true;
    this.events.close();
    removeEventListener("keydown", this.keys);
    document.getElementById("lost").hidden = true;
  }

  // What there is to know

  /** Sides that persons play. */
  get persons() {
    return SIDES.filter((side) => this.game.players[side].kind === "person");
  }

  /** The side of the one person who plays against an engine, else null. */
  get me() {
    return this.persons.length === 1 ? this.persons[0] : null;
  }

  get present() {
    return this.ply === this.game.ply;
  }

  /** The board, the last move and what it took, at a ply. */
  at(ply) {
    const move = ply ? this.game.moves[ply - 1] : null;
    const { size } = this.rules;
    return {
      board: parsePosition(size, move ? move.position : this.game.start.position),
      move: move ? moveSquares(size, move.move) : null,
      captured: move ? move.captured.map((name) => squareIndex(size, name)) : [],
      occurrences: move ? move.occurrences : 1,
    };
  }

  // Building

  _build(host) {
    this.frame = el("div", { class: "board-frame" });
    this.board = new Board(this.frame, this.rules, {
      name: t("game.board"),
      label: (square, piece) => this._label(square, piece),
      control: {
        targets: (square) => this._targets(square),
        move: attempt((from, to, dragged) => this._move(from, to, dragged)),
      },
    });
    this.seats = el("div", { class: "seats" });
    this.status = el("div", { class: "status" });
    this.actions = el("div", { class: "actions" });
    this.moves = new MoveList((ply) => this.go(ply));
    this.analysis = new AnalysisPanel(this);
    this.share = new SharePanel(this);
    const steps = el(
      "div",
      { class: "row steps" },
      [
        ["first", () => 0],
        ["back", () => this.ply - 1],
        ["forward", () => this.ply + 1],
        ["last", () => this.game.ply],
      ].map(([name, to]) =>
        button(t(`action.${name}`), () => this.go(to()), { icon: name, class: "plain mirrored", data: { step: name } }),
      ),
    );
    const moves = el("div", {}, this.moves.node, steps);
    host.append(
      el("h1", { class: "off-screen" }, this.rules.title),
      this.frame,
      el(
        "div",
        { class: "panel" },
        this.seats,
        this.status,
        this.actions,
        tabs(
          [
            ["moves", t("game.moves"), moves],
            ["analysis", t("action.analysis"), this.analysis.node],
            ["record", t("record.title"), this.share.node],
          ],
          (name) => this.analysis.visible(name === "analysis"),
        ),
      ),
    );
  }

  _label(square, piece) {
    const name = squareName(this.rules.size, square);
    const marked = this.marked?.includes(square);
    return squareLabel(this.rules, name, piece, {
      target: this.board?.hand?.picked !== null && this.board?.hand?._may(square),
      marked,
    });
  }

  // What the person does

  _targets(square) {
    if (!this.present || !this.game.can.move) return null;
    const { size } = this.rules;
    const name = squareName(size, square);
    const targets = this.game.legal
      .filter(({ move }) => move.startsWith(`${name}-`))
      .map((legal) => {
        const repeats = legal.ends?.reason === "repetition";
        const kind = repeats ? (legal.ends.winner ? "lose" : "draw") : legal.occurrences > 1 ? "again" : "";
        return { square: moveSquares(size, legal.move)[1], kind, text: kind ? String(legal.occurrences) : "" };
      });
    return targets.length ? targets : null;
  }

  async _move(from, to, dragged) {
    const { size } = this.rules;
    const move = `${squareName(size, from)}-${squareName(size, to)}`;
    const legal = this.game.legal.find((one) => one.move === move);
    if (legal?.ends?.reason === "repetition") {
      const question = t(legal.ends.winner ? "game.warn.loss" : "game.warn.draw", {
        move,
        ordinal: ordinal(legal.occurrences),
      });
      if (!(await ask(question, t("game.warn.play")))) return;
    }
    this.quiet = dragged ? move : null;
    const request = { move, ply: this.game.ply };
    if (this.offering) request.offer_draw = true;
    this.offering = false;
    await this.command("move", request);
  }

  /** Sends a command about this game and shows what comes of it. */
  async command(name, body = {}) {
    this.update(await post(`/api/games/${this.game.id}/${name}`, body));
  }

  /** Looks at another ply. */
  go(ply) {
    const to = Math.max(0, Math.min(this.game.ply, ply));
    if (to === this.ply) return;
    const from = this.ply;
    this.ply = to;
    this._show(from);
    this.refresh();
    const move = to ? this.game.moves[to - 1] : null;
    say(move ? moveWords(move) : t("game.start"));
  }

  _key(event) {
    if (
      event.target.closest?.("input, select, textarea, .grid, dialog, [role=tablist]") ||
      event.ctrlKey ||
      event.altKey ||
      event.metaKey
    )
      return;
    const to = { ArrowLeft: this.ply - 1, ArrowRight: this.ply + 1, Home: 0, End: this.game.ply }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(to);
  }

  async hint() {
    const known = this.analysis.latest;
    if (known?.ply === this.game.ply && known.line.length) {
      this._hinted(known);
      return;
    }
    this.hinting = true;
    this.events.send({ type: "analyse", ply: this.game.ply, engine: null, simulations: 256 });
  }

  _analysis(event) {
    if (this.hinting && event.ply === this.game.ply && event.line.length && event.done) {
      this.hinting = false;
      this._hinted(event);
    }
    this.analysis.analysed(event);
  }

  _hinted({ line }) {
    note(t("game.hint", { move: line[0] }));
    say(t("game.hint", { move: line[0] }));
    this.board.draw([{ move: moveSquares(this.rules.size, line[0]), weight: 0.8, colour: "#1c7c3c" }]);
  }

  // What comes from the server

  update(game) {
    if (this.closed || game.revision < this.game.revision) return;
    const before = this.game;
    const followed = this.present;
    const changed =
      game.ply !== before.ply ||
      game.position !== before.position ||
      game.moves.at(-1)?.move !== before.moves.at(-1)?.move;
    this.game = game;
    if (changed) {
      this.hinting = false;
      const last = game.moves.at(-1);
      const on = game.ply > before.ply;
      if (on) say(game.moves.slice(before.ply).map(moveWords).join(" "));
      if (followed || this.ply > game.ply || (on && this.game.can.move)) {
        const from = this.ply;
        this.ply = game.ply;
        this._show(game.ply === from + 1 && last.move === this.quiet ? null : from, before);
      }
      this.quiet = null;
    }
    if (game.notice && JSON.stringify(game.notice) !== JSON.stringify(before.notice)) {
      note(t(`notice.${game.notice.code}`), {
        detail: game.notice.code === "engine_failed" ? game.notice.message : "",
      });
    }
    if (game.outcome && !before.outcome)
      say(`${endTitle(this.game, this.me)} ${reasonWords(game.outcome, this.rules)}`);
    if (!changed) this.board.hand.settle();
    this.refresh();
  }

  _connected(connected) {
    const box = document.getElementById("lost");
    if (connected && this.lost) note(t("app.back"));
    this.lost = !connected;
    box.textContent = t("app.lost");
    box.hidden = connected;
  }

  // Showing

  /** Shows the position at `this.ply`, gliding from the ply before or after where `from` is one of them. */
  _show(from = null, before = this.game) {
    const now = this.at(this.ply);
    this.marked = now.move ?? [];
    let motion = {};
    if (from === this.ply - 1) motion = { move: now.move, captured: now.captured };
    else if (from === this.ply + 1 && before.moves[this.ply]) {
      const { size } = this.rules;
      const undone = before.moves[this.ply];
      motion = {
        move: moveSquares(size, undone.move).reverse(),
        captured: undone.captured.map((name) => squareIndex(size, name)),
        back: true,
      };
    }
    this.board.draw();
    this.board.show(now.board, motion);
    this.board.mark(now.move, now.captured);
  }

  /** Writes everything beside the board anew. */
  refresh() {
    const { game } = this;
    this.seats.replaceChildren(...SIDES.map((side) => seatBox(this, side)));
    this.status.replaceChildren(...statusParts(this));
    replaceActions(this.actions, actionButtons(this));
    this.moves.show(game, this.ply);
    this.share.show();
    this.analysis.show();
  }
}
