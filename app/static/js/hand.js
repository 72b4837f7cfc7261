// What a person does with a board: click a piece and then a square, drag it, or go by arrow keys and Enter.

import { svg } from "./dom.js";
import { squareIndex } from "./squares.js";

const DRAG_FROM = 6; // pixels that a pointer has to go before it drags

export class Hand {
  /**
   * Args:
   *   board: the `Board`.
   *   control: an object with
   *     targets(square): where the piece there may go, [{square, kind, text}], or null where it cannot be picked up;
   *     move(from, to, dragged): the person has moved;
   *     click(square), optional: takes clicks instead (the editor);
   *     off(from), optional: a piece was dropped beside the board.
   */
  constructor(board, control) {
    this.board = board;
    this.control = control;
    this.picked = null;
    this.drag = null;
    const { grid } = board;
    grid.addEventListener("pointerdown", (event) => this._down(event));
    grid.addEventListener("pointermove", (event) => this._go(event));
    grid.addEventListener("pointerup", (event) => this._up(event));
    grid.addEventListener("pointercancel", () => this._drop(-1, true));
    grid.addEventListener("click", (event) => this._click(event));
    grid.addEventListener("keydown", (event) => this._key(event));
    grid.addEventListener("focusin", (event) => this._focused(this._square(event.target)));
  }

  _square(node) {
    return squareIndex(this.board.rules.size, node.dataset?.square);
  }

  /** Lets go of what was picked up; called whenever the position changes. */
  settle() {
    if (this.drag?.ghost) this.drag.ghost.remove();
    this.drag = null;
    this.pick(null);
    this.board.cells?.forEach((cell, square) =>
      cell.toggleAttribute("data-mine", Boolean(this.control.targets(square)?.length)),
    );
  }

  pick(square) {
    const targets = square === null ? null : this.control.targets(square);
    this.picked = targets ? square : null;
    this.targets = targets ?? [];
    this.board.hint(this.picked, this.targets);
  }

  _may(square) {
    return this.targets.some((target) => target.square === square);
  }

  _down(event) {
    if (event.button !== 0 || this.drag) return;
    const square = this._square(event.target);
    this.suppressed = false;
    if (square < 0 || !this.control.targets(square)?.length) return;
    this.drag = { square, x: event.clientX, y: event.clientY, pointer: event.pointerId, ghost: null };
  }

  _go(event) {
    const { drag, board } = this;
    if (!drag || event.pointerId !== drag.pointer) return;
    if (!drag.ghost) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_FROM) return;
      board.grid.setPointerCapture(drag.pointer);
      this.pick(drag.square);
      const piece = board.pieces.get(drag.square);
      if (!piece) return;
      drag.ghost = piece.cloneNode(true);
      drag.ghost.setAttribute("class", "ghost");
      piece.setAttribute("opacity", 0.3);
      drag.piece = piece;
      drag.over = svg("rect", { class: "over", width: 100, height: 100, fill: "#1d6fa5", "fill-opacity": 0.25 });
      board.layers.hints.append(drag.over, drag.ghost);
    }
    const { x, y } = board.point(event.clientX, event.clientY);
    drag.ghost.setAttribute("transform", `translate(${x} ${y}) scale(1.12)`);
    const over = board.squareAt(event.clientX, event.clientY);
    const shown = over >= 0 && this._may(over);
    drag.over.setAttribute("visibility", shown ? "visible" : "hidden");
    if (shown) {
      const [left, top] = board.corner(over);
      drag.over.setAttribute("x", left);
      drag.over.setAttribute("y", top);
    }
  }

  _up(event) {
    if (!this.drag || event.pointerId !== this.drag.pointer) return;
    if (this.drag.ghost) this._drop(this.board.squareAt(event.clientX, event.clientY), false);
    else this.drag = null;
  }

  _drop(square, cancelled) {
    const { drag } = this;
    if (!drag) return;
    this.suppressed = Boolean(drag.ghost); // the click that follows a drag means nothing
    const allowed = !cancelled && square >= 0 && this._may(square);
    drag.piece?.removeAttribute("opacity");
    drag.ghost?.remove();
    drag.over?.remove();
    this.drag = null;
    this.pick(null);
    if (allowed) this.control.move(drag.square, square, true);
    else if (!cancelled && square < 0) this.control.off?.(drag.square);
  }

  _click(event) {
    if (this.suppressed) {
      this.suppressed = false;
      return;
    }
    const square = this._square(event.target);
    if (square >= 0) this._act(square);
  }

  _act(square) {
    this._focused(square);
    if (this.control.click) {
      this.control.click(square);
    } else if (this.picked !== null && this._may(square)) {
      const from = this.picked;
      this.pick(null);
      this.control.move(from, square, false);
    } else {
      this.pick(square === this.picked ? null : square);
    }
  }

  _focused(square) {
    if (square < 0) return;
    const { board } = this;
    board.cells[board.focused ?? 0].setAttribute("tabindex", -1);
    board.focused = square;
    board.cells[square].setAttribute("tabindex", 0);
  }

  _key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { board } = this;
    const { size } = board.rules;
    const square = this._square(event.target);
    if (square < 0) return;
    const turn = board.flipped ? -1 : 1;
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const ends = { Home: -size, End: size }[event.key];
    if (step || ends) {
      const bound = (value) => Math.max(0, Math.min(size - 1, value));
      const file = bound((square % size) + turn * (step ? step[0] : ends));
      const rank = bound(Math.floor(square / size) + turn * (step ? step[1] : 0));
      board.cells[rank * size + file].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this._act(square);
    } else if (event.key === "Escape" && this.picked !== null) {
      this.pick(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
