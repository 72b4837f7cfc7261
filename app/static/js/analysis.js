// What a network and its search think: chances, policy, likely line, and the course of the chances over the game.

import { el, memory, svg } from "./dom.js";
import { list, number, percent, signed, t } from "./language.js";
import { complain } from "./notes.js";
import { get } from "./server.js";
import { moveSquares } from "./squares.js";

const BUDGETS = [32, 128, 512, 2048, 8192, 20000];
const COLOURS = { policy: "#1d6fa5", prior: "#8a4fb0", won: "#1c7c3c", lost: "#a3150f" };
const LONGEST_LINE = 12; // moves of the likely line that are shown
const QUIET = 120; // milliseconds between a step and the question, so that stepping fast asks but once
const MOST_ARROWS = 6;

/** A text that runs from left to right in every language: moves, numbers. */
const left = (text) => el("bdi", { dir: "ltr" }, text);

/** Chances of both sides and of a draw as one bar, the attackers at its beginning. */
export function chancesBar(chances, label) {
  const parts = ["attackers", "draw", "defenders"].map((name) => {
    const share = chances[name];
    const part = el("span", { class: ["part", name] }, share >= 0.12 ? percent(share) : "");
    part.style.flexGrow = share;
    return part;
  });
  const names = { attackers: t("side.attackers"), draw: t("analysis.draw"), defenders: t("side.defenders") };
  const words = `${label}: ${list(Object.entries(names).map(([name, text]) => `${text} ${percent(chances[name])}`))}`;
  return el("div", { class: "chances", role: "img", "aria-label": words, title: words, dir: "ltr" }, parts);
}

/** Chances of an opinion; a bare value becomes shares without draws. */
export function chancesOf(opinion) {
  if (!opinion) return null;
  if (opinion.proven) return { attackers: 0, draw: 0, defenders: 0, [opinion.proven]: 1 };
  if (opinion.chances) return opinion.chances;
  return { attackers: (1 + opinion.value) / 2, draw: 0, defenders: (1 - opinion.value) / 2 };
}

export class AnalysisPanel {
  constructor(view) {
    this.view = view;
    this.latest = null;
    this.points = [];
    this.on = memory.get("analysis", false);
    this.wanted = { engine: "", simulations: 2048, show: "arrows", of: "policy", ...memory.get("analysis.wanted", {}) };
    const { limits } = view.about;
    this.switch = el("input", {
      type: "checkbox",
      role: "switch",
      checked: this.on,
      onchange: ({ target }) => this._turn(target.checked),
    });
    const choose = (name, items) =>
      el(
        "select",
        { "aria-label": t(`analysis.${name}`), onchange: ({ target }) => this._want(name, target.value) },
        items.map(([value, text]) =>
          el("option", { value, selected: String(this.wanted[name]) === String(value) }, text),
        ),
      );
    this.engine = choose("engine", [
      ["", t("analysis.engine.best")],
      ["alphabeta", t("player.alphabeta")],
    ]);
    const budget = choose(
      "simulations",
      BUDGETS.filter((count) => count <= limits.simulations).map((count) => [count, number(count)]),
    );
    const shown = choose(
      "show",
      ["arrows", "heat", "none"].map((name) => [name, t(`analysis.show.${name}`)]),
    );
    const source = choose(
      "of",
      ["policy", "prior"].map((name) => [name, t(`analysis.${name}`)]),
    );
    this.opinions = el("div", { class: "opinions", "aria-live": "off" });
    this.course = el("div", { class: "course" });
    this.table = el("div", { class: "considered" });
    const field = (label, node) => el("label", { class: "field" }, el("span", {}, label), node);
    this.body = el(
      "div",
      {},
      el(
        "div",
        { class: "fields" },
        field(t("analysis.engine"), this.engine),
        field(t("analysis.simulations"), budget),
        field(t("analysis.show"), shown),
        field(t("analysis.of"), source),
      ),
      this.opinions,
      this.course,
      this.table,
    );
    this.node = el(
      "div",
      { class: "analysis" },
      el("label", { class: "switch" }, this.switch, t("action.analysis")),
      (this.invitation = el("p", { class: "small" }, t("analysis.off"))),
      this.body,
    );
    get(`/api/checkpoints?game=${view.game.game}`).then(({ checkpoints }) => this._engines(checkpoints), complain);
  }

  _engines(checkpoints) {
    this.engine.append(
      ...checkpoints.map(({ checkpoint }) =>
        el("option", { value: checkpoint, selected: checkpoint === this.wanted.engine }, checkpoint),
      ),
    );
  }

  _want(name, value) {
    this.wanted[name] = name === "simulations" ? Number(value) : value;
    memory.set("analysis.wanted", this.wanted);
    if (name === "show" || name === "of") this._draw();
    else this._ask(true);
  }

  _turn(on) {
    this.on = on;
    memory.set("analysis", on);
    if (!on) {
      this.events.send({ type: "stop_analysis" });
      this.latest = null;
      this.view.board.draw();
    }
    this.asked = null;
    this.show();
  }

  /** The stream that questions go to; questions are asked anew whenever it reconnects. */
  listen(events) {
    this.events = events;
    const { state } = events.handlers;
    events.handlers.state = (connected) => {
      state?.(connected);
      this.asked = this.graphed = null;
      if (connected) this.show();
    };
  }

  visible() {}

  get chosen() {
    const { engine } = this.wanted;
    if (engine === "alphabeta") return { kind: "alphabeta", depth: 6 };
    return [...this.engine.options].some(({ value }) => value === engine) && engine
      ? { kind: "checkpoint", checkpoint: engine }
      : null;
  }

  /** Shows the position that is looked at now, and asks about it if it is new. */
  show() {
    this.body.hidden = !this.on;
    this.invitation.hidden = this.on;
    if (!this.on || !this.events) return;
    this._ask(false);
    this._course();
  }

  _ask(anew) {
    const { game, ply } = this.view;
    const key = JSON.stringify([
      game.id,
      ply,
      ply ? game.moves[ply - 1].position : game.start.position,
      this.chosen,
      this.wanted.simulations,
    ]);
    if (this.on && (anew || key !== this.asked)) {
      this.asked = key;
      this.latest = null;
      if (ply === game.ply && game.outcome) {
        this.events.send({ type: "stop_analysis" });
        this.opinions.replaceChildren(el("p", { class: "small" }, t("analysis.over")));
        this.table.replaceChildren();
      } else {
        clearTimeout(this.asking);
        this.asking = setTimeout(
          () =>
            this.on &&
            this.events.send({ type: "analyse", ply, engine: this.chosen, simulations: this.wanted.simulations }),
          QUIET,
        );
      }
    }
    const graph = JSON.stringify([game.id, game.ply, game.position, this.chosen]);
    if (this.on && (anew || graph !== this.graphed)) {
      this.graphed = graph;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.events.send({ type: "graph", engine: this.chosen, simulations: 64 }), 300);
    }
  }

  /** An answer about one position. */
  analysed(event) {
    if (!this.on || event.ply !== this.view.ply) return;
    this.latest = event;
    const parts = [];
    for (const name of ["network", "search"]) {
      const chances = chancesOf(event[name]);
      if (chances)
        parts.push(
          el(
            "div",
            { class: "opinion" },
            el("span", {}, t(`analysis.${name}`)),
            chancesBar(chances, t(`analysis.${name}`)),
            // The same as the bar, in one number; the value itself is discounted, which nobody can see.
            el("b", { dir: "ltr" }, signed(chances.attackers - chances.defenders)),
          ),
        );
    }
    if (parts.length)
      parts.push(
        el(
          "div",
          { class: "legend small" },
          el("span", { class: "key attackers" }, t("side.attackers")),
          el("span", { class: "key defenders" }, t("side.defenders")),
        ),
      );
    const { proven, proven_plies: within } = event.search ?? {};
    if (proven)
      parts.push(
        el(
          "p",
          { class: ["proven", proven] },
          t(`analysis.proven.${proven}`),
          within ? ` ${t("analysis.proven.within", { plies: within })}` : "",
        ),
      );
    if (!event.simulations && event.effort) parts.push(el("p", { class: "small", dir: "auto" }, event.effort));
    if (event.line?.length) {
      const line = event.line.slice(0, LONGEST_LINE).flatMap((move) => [el("span", {}, move), " "]);
      parts.push(el("p", { class: "line" }, el("b", {}, `${t("analysis.line")}: `), left(line)));
    }
    if (event.simulations)
      parts.push(
        el(
          "p",
          { class: "small effort" },
          t("analysis.effort", { simulations: number(event.simulations) }),
          event.done ? "" : " …",
        ),
      );
    this.opinions.replaceChildren(...parts);
    this._considered(event);
    this._draw();
  }

  _considered({ moves }) {
    if (!moves?.length) {
      this.table.replaceChildren();
      return;
    }
    const head = ["move", "prior", "policy", "visits", "value"].map((name) =>
      el("th", { scope: "col", title: name === "value" ? t("analysis.value.meaning") : null }, t(`analysis.${name}`)),
    );
    const rows = moves.slice(0, 10).map((move) => {
      const value = move.proven
        ? el("b", { class: move.proven, title: t(`analysis.proven.${move.proven}`) }, t("analysis.proven"))
        : move.value === null
          ? "–"
          : left(signed(move.value));
      const row = el(
        "tr",
        {},
        el("th", { scope: "row" }, left(move.move)),
        el("td", {}, left(percent(move.prior))),
        el("td", {}, left(percent(move.policy))),
        el("td", {}, left(number(move.visits))),
        el("td", {}, value),
      );
      row.addEventListener("pointerenter", () => this._draw(move));
      row.addEventListener("pointerleave", () => this._draw());
      return row;
    });
    this.table.replaceChildren(
      el("h2", {}, t("analysis.moves")),
      el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    );
  }

  /** Puts the policy on the board, or one move of it. */
  _draw(only = null) {
    const { board, rules } = this.view;
    const event = this.latest;
    if (!event || event.ply !== this.view.ply) return;
    const { show, of } = this.wanted;
    const colour = COLOURS[of];
    const dye = ({ proven }) =>
      proven === null || proven === undefined || proven === "draw"
        ? colour
        : proven === event.to_play
          ? COLOURS.won
          : COLOURS.lost;
    if (!event.moves.length && event.line?.length && show !== "none") {
      board.draw([{ move: moveSquares(rules.size, event.line[0]), weight: 0.7, colour: dye(event.search ?? {}) }]);
      return;
    }
    const weighed = event.moves.map((move) => ({
      move: moveSquares(rules.size, move.move),
      share: move[of] ?? 0,
      name: move.move,
      colour: dye(move),
    }));
    if (only) {
      const { move, share, colour: own } = weighed.find(({ name }) => name === only.move);
      board.draw([{ move, weight: Math.max(0.4, share), colour: own, label: percent(share) }]);
    } else if (show === "heat") {
      const heat = new Map();
      for (const { move, share } of weighed) heat.set(move[1], (heat.get(move[1]) ?? 0) + share);
      const most = Math.max(...heat.values(), 1e-9);
      board.draw(
        [],
        [...heat]
          .filter(([, share]) => share / most > 0.02)
          .map(([square, share]) => ({ square, weight: share / most, colour })),
      );
    } else if (show === "arrows") {
      const best = weighed
        .sort((a, b) => b.share - a.share)
        .slice(0, MOST_ARROWS)
        .filter(({ share }) => share >= 0.03);
      board.draw(
        best.reverse().map(({ move, share, colour: own }) => ({
          move,
          weight: Math.sqrt(share),
          colour: own,
          label: share >= 0.1 ? String(Math.round(100 * share)) : "",
        })),
      );
    } else board.draw();
  }

  /** Values of all positions so far. */
  graph({ points }) {
    this.points = points;
    this._course();
  }

  _course() {
    const { game, ply } = this.view;
    const points = this.points.filter((point) => point.ply <= game.ply);
    if (points.length < 2) {
      this.course.replaceChildren();
      return;
    }
    const count = Math.max(game.ply + 1, 12),
      height = 90,
      wide = 6;
    const bars = [],
      line = [];
    for (const point of points) {
      const chances = chancesOf(point.search ?? point.network);
      const x = point.ply * wide;
      if (chances) {
        const attackers = chances.attackers * height,
          draw = chances.draw * height;
        bars.push(svg("rect", { class: "part attackers", x, y: height - attackers, width: wide, height: attackers }));
        bars.push(svg("rect", { class: "part draw", x, y: height - attackers - draw, width: wide, height: draw }));
        bars.push(svg("rect", { class: "part defenders", x, y: 0, width: wide, height: height - attackers - draw }));
      }
      const alone = chancesOf(point.network);
      if (alone) line.push(`${x + wide / 2},${(height * (1 - alone.attackers - alone.draw / 2)).toFixed(1)}`);
    }
    const plot = svg(
      "svg",
      {
        viewBox: `0 0 ${count * wide} ${height}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": t("analysis.graph"),
        direction: "ltr",
      },
      bars,
      svg("line", { class: "even", x1: 0, x2: count * wide, y1: height / 2, y2: height / 2 }),
      svg("polyline", { class: "network", points: line.join(" ") }),
      svg("rect", { class: "here", x: ply * wide, y: 0, width: wide, height }),
    );
    plot.addEventListener("click", (event) => {
      const box = plot.getBoundingClientRect();
      this.view.go(Math.floor(((event.clientX - box.left) / box.width) * count));
    });
    this.course.replaceChildren(
      el("h2", {}, t("analysis.graph")),
      plot,
      el("p", { class: "small" }, t("analysis.graph.meaning")),
    );
  }
}
