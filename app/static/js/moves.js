// The list of moves, two a line, with the ply that is looked at marked.

import { button, el } from "./dom.js";
import { t } from "./language.js";
import { moveWords } from "./words.js";

export class MoveList {
  /** `go(ply)` is called for the move that a person chooses. */
  constructor(go) {
    this.go = go;
    this.node = el("ol", { class: "moves", dir: "ltr", tabindex: -1 });
  }

  show(game, ply) {
    const first = game.start.to_play === "attackers" ? 0 : 1; // plies before the first of a full turn
    const rows = [];
    for (let turn = 0; 2 * turn - first < game.moves.length; turn++) {
      const cells = [el("span", { class: "number" }, `${turn + 1}.`)];
      for (const index of [2 * turn - first, 2 * turn + 1 - first]) {
        if (index < 0) cells.push(el("span", { class: "none" }, "…"));
        const move = index >= 0 ? game.moves[index] : null;
        if (!move) continue;
        const text = move.move + (move.captured.length ? `×${move.captured.join(",")}` : "");
        const last =
          index + 1 === game.ply && game.outcome && !["resignation", "agreement"].includes(game.outcome.reason)
            ? "#"
            : "";
        cells.push(
          button(text + last, () => this.go(move.ply), {
            class: ["move", move.side],
            "aria-label": moveWords(move) + (move.occurrences > 1 ? ` (${move.occurrences}×)` : ""),
            "aria-current": move.ply === ply ? "step" : null,
            data: { ply: move.ply },
          }),
        );
        if (move.occurrences > 1) cells.at(-1).append(el("sup", {}, `${move.occurrences}×`));
      }
      rows.push(el("li", {}, cells));
    }
    const empty = el("li", { class: "small", dir: "auto" }, t("game.no_moves_yet"));
    this.node.replaceChildren(...(rows.length ? rows : [empty]));
    const current = this.node.querySelector("[aria-current]");
    if (current) {
      const { node } = this;
      const top = current.closest("li").offsetTop - node.offsetTop;
      if (top < node.scrollTop || top > node.scrollTop + node.clientHeight - 40)
        node.scrollTop = top - node.clientHeight / 2;
    } else this.node.scrollTop = 0;
  }
}
