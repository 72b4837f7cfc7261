// A board on the page: the carved art, the pieces, what is marked on it, and a grid of squares for pointer and keys.

import { FRAME, UNIT, boardArt, corner, definitions, pieceShape } from "./art.js";
import { svg } from "./dom.js";
import { Hand } from "./hand.js";
import { squareName } from "./squares.js";

const SECONDS = 0.22;
const LABEL = {
  "text-anchor": "middle",
  "dominant-baseline": "central",
  "font-size": 30,
  "font-weight": 700,
  "font-family": "sans-serif",
};
let boards = 0;

/** Whether pieces should jump to their squares instead of gliding. */
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Board {
  /**
   * Args:
   *   host: element that the board is put into.
   *   rules: the game, as the server describes it.
   *   options: `plain` for small pictures; `label(square, piece)` names a square for screen readers; `name` of the
   *     grid; `control` takes what the person does (see `Hand`), none for a picture.
   */
  constructor(host, rules, options = {}) {
    this.rules = rules;
    this.options = options;
    this.id = `board${++boards}`;
    this.flipped = false;
    this.pieces = new Map(); // square -> element
    this.board = new Array(rules.size ** 2).fill("");
    const whole = rules.size * UNIT + 2 * FRAME;
    this.whole = whole;
    this.layers = {};
    for (const name of ["under", "marks", "pieces", "arrows", "hints"]) {
      this.layers[name] = svg("g", { class: name, "aria-hidden": "true" });
    }
    this.grid = svg("g", {
      class: "grid",
      role: options.control ? "grid" : null,
      "aria-label": options.control ? options.name : null,
      direction: "ltr",
    });
    this.root = svg("svg", {
      class: ["board", options.plain && "plain"],
      viewBox: `0 0 ${whole} ${whole}`,
      role: options.control ? "group" : "img",
      "aria-label": options.name,
      direction: "ltr",
    });
    host.append(this.root);
    this._frame();
    if (options.control) {
      this._cells();
      this.hand = new Hand(this, options.control);
    }
  }

  _frame() {
    this.art = boardArt(this.rules, this.id, { flipped: this.flipped, plain: this.options.plain });
    const { under, marks, pieces, arrows, hints } = this.layers;
    this.root.replaceChildren(definitions(this.id), this.art, under, marks, pieces, arrows, hints, this.grid);
  }

  _cells() {
    const { size } = this.rules;
    this.cells = new Array(size * size);
    const rows = [];
    for (let row = 0; row < size; row++) {
      const cells = [];
      for (let column = 0; column < size; column++) {
        const square = this.flipped ? row * size + (size - 1 - column) : (size - 1 - row) * size + column;
        const [x, y] = this.corner(square);
        const cell = svg("rect", {
          class: "cell",
          x,
          y,
          width: UNIT,
          height: UNIT,
          role: "gridcell",
          tabindex: -1,
          fill: "transparent",
          data: { square: squareName(size, square) },
        });
        this.cells[square] = cell;
        cells.push(cell);
      }
      rows.push(svg("g", { role: "row" }, cells));
    }
    this.grid.replaceChildren(...rows);
    this.cells[this.focused ?? 0].setAttribute("tabindex", 0);
    this.describe();
  }

  corner(square) {
    return corner(this.rules.size, square, this.flipped);
  }

  middle(square) {
    return this.corner(square).map((value) => value + UNIT / 2);
  }

  /** The square at a point of the screen, -1 off the board. */
  squareAt(clientX, clientY) {
    const { x, y } = this.point(clientX, clientY);
    const { size } = this.rules;
    const column = Math.floor((x - FRAME) / UNIT);
    const row = Math.floor((y - FRAME) / UNIT);
    if (column < 0 || row < 0 || column >= size || row >= size) return -1;
    return this.flipped ? row * size + (size - 1 - column) : (size - 1 - row) * size + column;
  }

  /** A point of the screen in drawing units. */
  point(clientX, clientY) {
    return new DOMPoint(clientX, clientY).matrixTransform(this.root.getScreenCTM().inverse());
  }

  /** Writes the names of the squares anew, after the position or the language has changed. */
  describe() {
    if (!this.cells || !this.options.label) return;
    this.cells.forEach((cell, square) =>
      cell.setAttribute("aria-label", this.options.label(square, this.board[square])),
    );
  }

  flip(flipped) {
    if (flipped === this.flipped) return;
    this.flipped = flipped;
    this._frame();
    if (this.cells) this._cells();
    this._place();
    this.marked?.();
  }

  _piece(square, piece) {
    const [x, y] = this.middle(square);
    const inner = svg("g", { class: "moving" }, pieceShape(this.id, piece));
    return svg("g", { class: `piece ${piece}`, transform: `translate(${x} ${y})` }, inner);
  }

  _place() {
    this.pieces.clear();
    this.board.forEach((piece, square) => piece && this.pieces.set(square, this._piece(square, piece)));
    this.layers.pieces.replaceChildren(...this.pieces.values());
  }

  /**
   * Shows a position.
   *
   * Args:
   *   board: pieces by square.
   *   move: [from, to], a piece that glides; null for none.
   *   captured: squares whose pieces fade away (or, with `back`, come back).
   */
  show(board, { move = null, captured = [], back = false } = {}) {
    const before = this.board;
    const leaving = back ? [] : captured.map((square) => [square, this.pieces.get(square)]).filter(([, node]) => node);
    this.board = board.slice();
    this._place();
    this.describe();
    this.hand?.settle();
    if (!move || still()) return;
    const node = this.pieces.get(move[1]);
    if (node && before[move[0]] === board[move[1]]) {
      const [x0, y0] = this.middle(move[0]);
      const [x1, y1] = this.middle(move[1]);
      this.layers.pieces.append(node);
      node.firstChild.animate(
        [{ transform: `translate(${x0 - x1}px, ${y0 - y1}px)` }, { transform: "translate(0, 0)" }],
        { duration: 1000 * SECONDS, easing: "cubic-bezier(.3,.1,.2,1)" },
      );
    }
    for (const [, gone] of leaving) {
      this.layers.pieces.prepend(gone);
      const fading = gone.animate([{ opacity: 1 }, { opacity: 1, offset: 0.5 }, { opacity: 0 }], {
        duration: 2200 * SECONDS,
        fill: "forwards",
      });
      fading.onfinish = () => gone.remove();
    }
    if (back) {
      for (const square of captured) {
        this.pieces.get(square)?.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 1500 * SECONDS });
      }
    }
  }

  /** Marks the last move and where it took: [from, to] and squares; null for none. */
  mark(move, captured = []) {
    this.marked = () => {
      const parts = [];
      for (const square of move ?? []) {
        const [x, y] = this.corner(square);
        parts.push(
          svg("rect", {
            x: x + 3,
            y: y + 3,
            width: UNIT - 6,
            height: UNIT - 6,
            rx: 6,
            fill: "#ffb020",
            "fill-opacity": 0.34,
            stroke: "#8a4b00",
            "stroke-opacity": 0.8,
            "stroke-width": 4,
            "stroke-dasharray": square === move[0] ? "14 9" : null,
          }),
        );
      }
      for (const square of captured) {
        const [x, y] = this.middle(square);
        const cross = `M${x - 22} ${y - 22}l44 44m0-44l-44 44`;
        parts.push(
          svg("path", {
            d: cross,
            stroke: "#fff3dc",
            "stroke-opacity": 0.85,
            "stroke-width": 16,
            "stroke-linecap": "round",
          }),
        );
        parts.push(svg("path", { d: cross, stroke: "#a3150f", "stroke-width": 9, "stroke-linecap": "round" }));
      }
      this.layers.marks.replaceChildren(...parts);
      this.drawn?.();
    };
    this.marked();
  }

  /** Draws the analysis: arrows `{move: [from, to], weight: 0..1, colour, label}`, heat `{square, weight, colour}`. */
  draw(arrows = [], heat = []) {
    this.drawn = () => {
      this.layers.under.replaceChildren(
        ...heat.map(({ square, weight, colour }) => {
          const [x, y] = this.corner(square);
          return svg("rect", {
            x: x + 2,
            y: y + 2,
            width: UNIT - 4,
            height: UNIT - 4,
            fill: colour,
            "fill-opacity": 0.15 + 0.65 * weight,
          });
        }),
      );
      this.layers.arrows.replaceChildren(...arrows.flatMap((arrow) => this._arrow(arrow)));
    };
    this.drawn();
  }

  _arrow({ move, weight, colour, label }) {
    const [[x0, y0], [x1, y1]] = move.map((square) => this.middle(square));
    const length = Math.hypot(x1 - x0, y1 - y0);
    const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
    const end = length - 14;
    const head = Math.min(20 + 22 * weight, 0.6 * (end - 26));
    const half = Math.min(4 + 12 * weight, 0.38 * head);
    const neck = end - head;
    const at = (along, aside) =>
      `${(x0 + dx * along - dy * aside).toFixed(1)} ${(y0 + dy * along + dx * aside).toFixed(1)}`;
    const above = [at(26, half), at(neck, half), at(neck, half * 2.2), at(end, 0)];
    const below = [at(neck, -half * 2.2), at(neck, -half), at(26, -half)];
    const path = `M${[...above, ...below].join("L")}Z`;
    const parts = [
      svg("path", {
        d: path,
        fill: colour,
        "fill-opacity": 0.5 + 0.4 * weight,
        stroke: "#fff",
        "stroke-opacity": 0.9,
        "stroke-width": 3,
        "stroke-linejoin": "round",
      }),
    ];
    if (label) {
      const edge = { stroke: "#10202c", "stroke-width": 6, "paint-order": "stroke", "stroke-linejoin": "round" };
      parts.push(svg("text", { x: x1, y: y1, class: "arrow-label", ...LABEL, ...edge, fill: "#fff" }, label));
    }
    return parts;
  }

  /** Shows where a picked piece may go: `{square, kind, text}`, kind "", "again", "lose", "draw", "none" (no mark). */
  hint(origin, targets) {
    const parts = [];
    if (origin !== null) {
      const [x, y] = this.corner(origin);
      parts.push(
        svg("rect", {
          class: "picked",
          x: x + 4,
          y: y + 4,
          width: UNIT - 8,
          height: UNIT - 8,
          rx: 8,
          fill: "none",
          stroke: "#1d6fa5",
          "stroke-width": 8,
        }),
      );
    }
    for (const { square, kind, text } of targets) {
      if (kind === "none") continue;
      const [x, y] = this.middle(square);
      const fill = { lose: "#a3150f", draw: "#6b4fa0", again: "#b46a00" }[kind] ?? "#1d6fa5";
      const dot = { cx: x, cy: y, r: kind ? 24 : 15, fill, "fill-opacity": 0.85, stroke: "#fff", "stroke-width": 4 };
      parts.push(svg("circle", { class: "target", ...dot }));
      if (text) parts.push(svg("text", { x, y: y + 1, ...LABEL, fill: "#fff" }, text));
    }
    this.layers.hints.replaceChildren(...parts);
    this.cells?.forEach((cell, square) => {
      cell.toggleAttribute(
        "data-target",
        targets.some((target) => target.square === square),
      );
      if (square === origin) cell.setAttribute("aria-selected", "true");
      else cell.removeAttribute("aria-selected");
    });
  }

  /** Shows a part of the board alone, between two of its squares. */
  crop([one, two]) {
    const [[x0, y0], [x1, y1]] = [this.corner(one), this.corner(two)];
    const [left, top] = [Math.min(x0, x1), Math.min(y0, y1)];
    this.root.setAttribute("viewBox", `${left} ${top} ${Math.abs(x1 - x0) + UNIT} ${Math.abs(y1 - y0) + UNIT}`);
  }

  /** The board as a picture of its own: SVG text without the grid for the keyboard. */
  picture() {
    const copy = this.root.cloneNode(true);
    for (const node of copy.querySelectorAll(".grid, .hints")) node.remove();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", this.whole);
    copy.setAttribute("height", this.whole);
    copy.removeAttribute("class");
    return new XMLSerializer().serializeToString(copy);
  }

  /** The same as PNG, `side` pixels wide. */
  async png(side = 1000) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.picture())}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = side;
    canvas.getContext("2d").drawImage(image, 0, 0, side, side);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }
}
