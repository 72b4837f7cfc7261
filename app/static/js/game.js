// A game on the page: board, players, what can be done, and the panels beside it.

import { AnalysisPanel } from "./analysis.js";
import { definitions, pieceShape } from "./art.js";
import { Board } from "./board.js";
import { button, el, memory, svg } from "./dom.js";
import { ordinal, t } from "./language.js";
import { MoveList } from "./moves.js";
import { ask, attempt, complain, note, say } from "./notes.js";
import { playerName } from "./players.js";
import { changePlayers, engineControls, playAgain } from "./seats.js";
import { Events, get, post } from "./server.js";
import { SharePanel } from "./share.js";
import { SIDES, moveSquares, other, parsePosition, sideOf, squareIndex, squareName } from "./squares.js";
import { begin } from "./start.js";
import { endTitle, moveWords, reasonWords, squareLabel } from "./words.js";

/** A piece as a little picture. */
export function pieceIcon(piece) {
  const id = `icon${piece}`;
  return svg("svg", { class: "piece-icon", viewBox: "-50 -50 100 100", "aria-hidden": "true" }, definitions(id), pieceShape(id, piece));
}

/** #position=...: begins a game of two persons from a position and goes to it. */
export async function openPosition(host, { position, rules, to_play: side }, about) {
  const known = about.games.find(({ game }) => game === rules) ?? about.games[0];
  const made = await post("/api/games", { game: known.game, position, to_play: SIDES.includes(side) ? side : known.first });
  history.replaceState(null, "", `#game=${made.id}`);
  return gameView(host, { game: made.id }, about);
}

export async function gameView(host, { game: id }, about) {
  const game = await get(`/api/games/${encodeURIComponent(id)}`);
  const view = new GameView(host, about, about.games.find((rules) => rules.game === game.game), game);
  return () => view.close();
}

class GameView {
  constructor(host, about, rules, game) {
    this.about = about;
    this.rules = rules;
    this.game = game;
    this.ply = game.ply;
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
      control: { targets: (square) => this._targets(square), move: attempt((from, to, dragged) => this._move(from, to, dragged)) },
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
      [["first", () => 0], ["back", () => this.ply - 1], ["forward", () => this.ply + 1], ["last", () => this.game.ply]].map(([name, to]) =>
        button(t(`action.${name}`), () => this.go(to()), { icon: name, class: "plain mirrored", data: { step: name } }),
      ),
    );
    const moves = el("div", {}, this.moves.node, steps);
    host.append(
      this.frame,
      el("div", { class: "panel" }, this.seats, this.status, this.actions, tabs([["moves", t("game.moves"), moves], ["analysis", t("action.analysis"), this.analysis.node], ["record", t("record.title"), this.share.node]], (name) => this.analysis.visible(name === "analysis"))),
    );
  }

  _label(square, piece) {
    const name = squareName(this.rules.size, square);
    const marked = this.marked?.includes(square);
    return squareLabel(this.rules, name, piece, { target: this.board?.hand?.picked !== null && this.board?.hand?._may(square), marked });
  }

  // What the person does

  _targets(square) {
    if (!this.present || !this.game.can.move) return null;
    const { size } = this.rules;
    const name = squareName(size, square);
    const targets = this.game.legal.filter(({ move }) => move.startsWith(`${name}-`)).map((legal) => {
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
      const question = t(legal.ends.winner ? "game.warn.loss" : "game.warn.draw", { move, ordinal: ordinal(legal.occurrences) });
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
    if (event.target.closest?.("input, select, textarea, .grid, dialog, [role=tablist]") || event.ctrlKey || event.altKey || event.metaKey) return;
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
    const changed = game.ply !== before.ply || game.position !== before.position || game.moves.at(-1)?.move !== before.moves.at(-1)?.move;
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
      note(t(`notice.${game.notice.code}`), { detail: game.notice.code === "engine_failed" ? game.notice.message : "" });
    }
    if (game.outcome && !before.outcome) say(`${endTitle(this.game, this.me)} ${reasonWords(game.outcome, this.rules)}`);
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
      motion = { move: moveSquares(size, undone.move).reverse(), captured: undone.captured.map((name) => squareIndex(size, name)), back: true };
    }
    this.board.draw();
    this.board.show(now.board, motion);
    this.board.mark(now.move, now.captured);
  }

  /** Writes everything beside the board anew. */
  refresh() {
    const { game } = this;
    this.seats.replaceChildren(...SIDES.map((side) => this._seat(side)));
    this.status.replaceChildren(...this._status());
    this.actions.replaceChildren(...this._actions());
    this.moves.show(game, this.ply);
    this.share.show();
    this.analysis.show();
  }

  _seat(side) {
    const { game } = this;
    const lost = (piece) => parsePosition(this.rules.size, game.start.position).filter((one) => one === piece).length - this.at(this.ply).board.filter((one) => one === piece).length;
    const piece = side === "attackers" ? "t" : "T";
    const count = lost(piece);
    const active = !game.outcome && game.to_play === side;
    return el(
      "div",
      { class: ["seat", active && "active"], data: { side } },
      pieceIcon(side === "attackers" ? "t" : "K"),
      el("div", { class: "who" }, el("b", {}, t(`side.${side}`)), el("small", { dir: "auto" }, this.me === side ? t("player.you") : playerName(game.players[side]))),
      count ? el("span", { class: "taken", title: t("game.captured"), "aria-label": `${t("game.captured")}: ${count}` }, pieceIcon(piece), `× ${count}`) : null,
      game.thinking === side && el("span", { class: "spinner", "aria-hidden": "true" }),
    );
  }

  _status() {
    const { game, rules } = this;
    const parts = [];
    if (game.outcome) {
      const result = game.outcome.winner === null ? "draw" : this.me && game.outcome.winner !== this.me ? "lost" : "won";
      parts.push(
        el(
          "div",
          { class: ["banner", result] },
          el("h2", {}, endTitle(game, this.me)),
          el("p", {}, reasonWords(game.outcome, rules)),
          el("p", { class: "small" }, t("end.plies", { plies: game.ply })),
          el("div", { class: "row" }, playAgain(this)),
        ),
      );
    } else {
      const to = game.to_play;
      const mine = game.can.move && this.me;
      const key = game.thinking ? `game.thinking.${game.thinking}` : mine ? `game.your_turn.${to}` : `game.turn.${to}`;
      parts.push(el("p", { class: ["turn", mine && "mine"] }, t(key)));
    }
    if (!this.present) {
      parts.push(
        el(
          "p",
          { class: "past" },
          t("game.past", { ply: this.ply, plies: game.ply }),
          " ",
          button(t("action.last"), () => this.go(game.ply)),
          " ",
          button(t("game.past.on"), attempt(() => this.command("undo", { ply: this.ply }))),
        ),
      );
    }
    const { occurrences } = this.at(this.ply);
    if (!game.outcome && occurrences > 1) {
      parts.push(el("p", { class: "warning", role: "alert" }, t(`game.repeated.${rules.repetition}`, { count: occurrences, ordinal: ordinal(rules.repetition_limit) })));
    }
    if (game.draw_offered && !game.outcome && game.draw_offered !== this.me) {
      parts.push(
        el("p", { class: "warning" }, t(`game.offered.${game.draw_offered}`), " ", game.can.accept_draw && button(t("action.accept_draw"), attempt(() => this.command("accept_draw")), { class: "primary" })),
      );
    } else if (this.offering) parts.push(el("p", { class: "small" }, t("game.offering")));
    return parts;
  }

  _actions() {
    const { game, rules } = this;
    const act = (name, icon, work, options = {}) => button(t(`action.${name}`), attempt(work), { icon, label: t(`action.${name}`), data: { action: name }, ...options });
    const going = !game.outcome && this.persons.length > 0;
    return [
      ...engineControls(this),
      act("undo", "undo", () => this.command("undo"), { disabled: !game.can.undo }),
      act("flip", "flip", () => {
        this.board.flip(!this.board.flipped);
        this.board.hand.settle();
        memory.set("flipped", this.board.flipped);
      }),
      act("hint", "bulb", () => this.hint(), { disabled: !game.can.move }),
      rules.agreement && act("offer_draw", "hands", () => this._offer(), { disabled: !going, "aria-pressed": String(this.offering) }),
      act("resign", "flag", () => this._resign(), { disabled: !game.can.resign }),
      act("players", "people", () => changePlayers(this)),
    ].filter(Boolean);
  }

  async _offer() {
    if (this.game.can.offer_draw) {
      await this.command("offer_draw");
      return;
    }
    this.offering = !this.offering;
    this.refresh();
  }

  async _resign() {
    if (!(await ask(t("game.resign.ask"), t("action.resign")))) return;
    const side = this.me ?? this.game.to_play;
    await this.command("resign", { side });
  }
}

/** Panels of which one is shown: [[name, title, node]]. */
function tabs(panels, changed) {
  const chosen = memory.get("tab", "moves");
  const heads = [];
  const select = (name, focus = false) => {
    panels.forEach(([one, , node], index) => {
      const shown = one === name;
      node.hidden = !shown;
      heads[index].setAttribute("aria-selected", String(shown));
      heads[index].tabIndex = shown ? 0 : -1;
      if (shown && focus) heads[index].focus();
    });
    memory.set("tab", name);
    changed(name);
  };
  panels.forEach(([name, title, node], index) => {
    const move = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const turn = document.documentElement.dir === "rtl" ? -step : step;
      select(panels[(index + turn + panels.length) % panels.length][0], true);
      event.preventDefault();
    };
    heads.push(el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => select(name), onkeydown: move }, title));
    node.id = `panel-${name}`;
    node.setAttribute("role", "tabpanel");
    node.setAttribute("aria-labelledby", `tab-${name}`);
  });
  const box = el("div", { class: "tabs" }, el("div", { role: "tablist" }, heads), panels.map(([, , node]) => node));
  select(panels.some(([name]) => name === chosen) ? chosen : "moves");
  return box;
}
