// A position set up by hand; the server says whether it can be.

import { pieceIcon } from "./art.js";
import { Board } from "./board.js";
import { button, el, memory } from "./dom.js";
import { t } from "./language.js";
import { attempt, complain } from "./notes.js";
import { Refused, post } from "./server.js";
import { SIDES, formatPosition, parsePosition, squareName, squareOfColumn } from "./squares.js";
import { begin, layoutName } from "./start.js";
import { squareLabel } from "./words.js";

const NAMES = { t: "piece.attacker", T: "piece.defender", K: "piece.king", "": "edit.erase" };

/** What is wrong with a position of a game, in the person's language where there are words for it. */
export function positionProblem(error, { size }, text) {
  const { problem, column } = error.details;
  if (!problem) return error.message;
  const placed = problem === "king_on_goal" || problem === "piece_forbidden";
  return t(`edit.problem.${problem}`, placed ? { square: squareOfColumn(size, text, column) } : {});
}

export function editView(host, { edit: wanted, position, to_play: side }, about) {
  const rules = about.games.find(({ game }) => game === wanted) ?? about.games[0];
  const { size } = rules;
  let board = parsePosition(size, position ?? rules.layouts[0].position);
  let tool = "t";
  let toPlay = SIDES.includes(side) ? side : rules.first;
  let checks = 0;

  const frame = el("div", { class: "board-frame" });
  const all = Array.from({ length: size * size }, (_, square) => ({ square, kind: "none", text: "" }));
  const view = new Board(frame, rules, {
    name: t("edit.title"),
    label: (square, piece) => squareLabel(rules, squareName(size, square), piece),
    control: {
      targets: (square) => (board[square] ? all : null),
      move: (from, to) =>
        put([
          [to, board[from]],
          [from, ""],
        ]),
      off: (from) => put([[from, ""]]),
      click: (square) => put([[square, board[square] === tool ? "" : tool]]),
    },
  });
  const verdict = el("p", { class: "verdict", role: "status" });
  const text = el("input", {
    type: "text",
    dir: "ltr",
    spellcheck: "false",
    "aria-label": t("record.position"),
    onchange: ({ target }) => read(target.value),
  });
  const play = button(
    t("edit.play"),
    attempt(() => begin(request())),
    { class: "primary" },
  );
  const analyse = button(
    t("edit.analyse"),
    attempt(() => {
      memory.set("analysis", true);
      memory.set("tab", "analysis");
      return begin(request());
    }),
  );

  const request = () => ({ game: rules.game, position: formatPosition(size, board), to_play: toPlay });

  function put(changes) {
    board = board.slice();
    for (const [square, piece] of changes) {
      if (piece === "K") board = board.map((one) => (one === "K" ? "" : one)); // there is one king
      board[square] = piece;
    }
    show();
  }

  async function read(value) {
    try {
      const found = await post("/api/positions", { game: rules.game, position: value.trim(), to_play: toPlay });
      board = parsePosition(size, found.position);
      show();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      judge(positionProblem(error, rules, value.trim()), false);
    }
  }

  function judge(words, good) {
    verdict.textContent = words;
    verdict.className = `verdict ${good ? "good" : "bad"}`;
    play.disabled = analyse.disabled = !good;
  }

  async function show() {
    view.show(board);
    text.value = formatPosition(size, board);
    const mine = ++checks;
    try {
      const found = await post("/api/positions", request());
      if (mine === checks) judge(t(found.outcome ? "edit.over" : "edit.good"), !found.outcome);
    } catch (error) {
      if (mine !== checks) return;
      if (error instanceof Refused && error.details.problem)
        judge(positionProblem(error, rules, request().position), false);
      else complain(error);
    }
  }

  const radios = (name, items, chosen, change) =>
    el(
      "div",
      { class: "row", role: "radiogroup" },
      items.map(([value, content, label]) =>
        el(
          "label",
          { class: "pick", title: label },
          el("input", {
            type: "radio",
            name,
            value,
            checked: value === chosen,
            "aria-label": label,
            onchange: () => change(value),
          }),
          el("span", {}, content),
        ),
      ),
    );
  const starts = about.games.flatMap((game) => game.layouts.map((layout) => ({ game, layout })));

  host.append(
    frame,
    el(
      "div",
      { class: "panel" },
      el("h1", {}, t("edit.title")),
      el("p", { class: "small" }, t("edit.help")),
      el("h2", {}, t("edit.piece")),
      radios(
        "tool",
        Object.entries(NAMES).map(([piece, key]) => [piece, piece ? pieceIcon(piece) : "✕", t(key)]),
        tool,
        (piece) => (tool = piece),
      ),
      el("h2", {}, t("edit.to_play")),
      radios(
        "to_play",
        SIDES.map((one) => [one, t(`side.${one}`), t(`side.${one}`)]),
        toPlay,
        (one) => ((toPlay = one), show()),
      ),
      el("h2", {}, t("record.position")),
      text,
      verdict,
      el(
        "div",
        { class: "row" },
        play,
        analyse,
        button(t("edit.clear"), () => ((board = board.map(() => "")), show())),
      ),
      el("h2", {}, t("edit.layout")),
      el(
        "div",
        { class: "row" },
        starts.map(({ game, layout }) =>
          button(layoutName(game, layout), () => {
            if (game.game === rules.game) {
              board = parsePosition(size, layout.position);
              show();
            } else location.hash = new URLSearchParams({ edit: game.game, position: layout.position }).toString();
          }),
        ),
      ),
    ),
  );
  show();
}
