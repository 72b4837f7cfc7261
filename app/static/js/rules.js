// The rules of the games, with small diagrams. The diagrams are data, /static/diagrams.json: positions that the rules
// themselves have been tried on.

import { Board } from "./board.js";
import { el } from "./dom.js";
import { t } from "./language.js";
import { chapters } from "./rules_text.js";
import { get } from "./server.js";
import { afterMove, moveSquares, parsePosition, squareIndex } from "./squares.js";

function diagram(rules, { position, move, captured = [], caption, moves = [], window: shown }) {
  const frame = el("div", { class: "diagram-board" });
  const board = new Board(frame, rules, { plain: true, name: t(`diagram.${caption}`) });
  const before = parsePosition(rules.size, position);
  const squares = move ? moveSquares(rules.size, move) : null;
  board.show(move ? afterMove(rules.size, before, move, captured) : before);
  if (squares) {
    board.mark(
      squares,
      captured.map((name) => squareIndex(rules.size, name)),
    );
    board.draw([{ move: squares, weight: 0.4, colour: "#b06400" }]);
  }
  if (moves.length) {
    const [origin] = moveSquares(rules.size, moves[0]);
    board.hint(
      origin,
      moves.map((one) => ({ square: moveSquares(rules.size, one)[1], kind: "", text: "" })),
    );
  }
  if (shown) board.crop(shown.map((name) => squareIndex(rules.size, name)));
  return el("figure", {}, frame, el("figcaption", {}, t(`diagram.${caption}`)));
}

export async function rulesView(host, { rules: wanted }, about) {
  const diagrams = await get("/static/diagrams.json");
  const rules = about.games.find(({ game }) => game === wanted) ?? about.games[0];
  const own = diagrams[rules.game] ?? {};
  host.append(
    el(
      "div",
      { class: "row" },
      about.games.map(({ game, title }) =>
        el(
          "a",
          { class: "button", href: `#rules=${game}`, "aria-current": game === rules.game ? "page" : null },
          title,
        ),
      ),
    ),
    el("h1", {}, t("rules.title", { game: rules.title })),
    ...chapters(rules).map(([title, sentences, chapter]) =>
      el(
        "section",
        {},
        el("h2", {}, t(title)),
        el(
          "ul",
          {},
          sentences.map((sentence) => el("li", {}, sentence)),
        ),
        own[chapter] &&
          el(
            "div",
            { class: "diagrams" },
            own[chapter].map((one) => diagram(rules, one)),
          ),
      ),
    ),
    el("p", {}, el("a", { class: "button primary", href: "#" }, t("action.play"))),
  );
}
