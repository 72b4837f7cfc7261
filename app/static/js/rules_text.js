// The rules of a game in sentences, made from the fields that the server sends; no game is known by name here.

import { list, ordinal, t } from "./language.js";
import { squareName } from "./squares.js";

/** "throne", or "castle" where nobody may stop on it. */
const seat = (rules) => (rules.closed.includes(rules.throne) ? "castle" : "throne");

function groups({ size, throne }) {
  const last = String.fromCharCode(96 + size);
  const corners = ["a1", `${last}1`, `a${size}`, `${last}${size}`];
  const edge = [];
  for (let square = 0; square < size * size; square++) {
    const file = square % size,
      rank = Math.floor(square / size);
    if (file % (size - 1) === 0 || rank % (size - 1) === 0) edge.push(squareName(size, square));
  }
  const file = throne.charCodeAt(0),
    rank = Number(throne.slice(1));
  const beside = [
    [0, 1],
    [0, -1],
    [1, 0],
    [-1, 0],
  ].map(([dx, dy]) => String.fromCharCode(file + dx) + (rank + dy));
  return { edge, corners, beside };
}

/** Squares in words, as far as there are words for them. */
export function places(rules, squares, state = "") {
  const { edge, corners, beside } = groups(rules);
  const kind = seat(rules);
  const words = [];
  let rest = squares;
  const take = (group, text) => {
    if (!group.every((square) => rest.includes(square))) return;
    words.push(text);
    rest = rest.filter((square) => !group.includes(square));
  };
  take(edge, t("place.edge"));
  take(corners, t("place.corners"));
  take([rules.throne], t(`place.${kind}${state}`, { square: rules.throne }));
  take(beside, t(`place.beside.${kind}`));
  return list([...words, ...rest.toSorted()]);
}

/** The rules as chapters: [[key of the title, [sentences], key of the chapter's diagrams]]. */
export function chapters(rules) {
  const kind = seat(rules);
  const any = (squares, key, state) => (squares.length ? [t(key, { places: places(rules, squares, state) })] : []);
  const hostile = [
    ...(rules.hostile.length ? [places(rules, rules.hostile)] : []),
    ...(rules.hostile_while_empty.length ? [places(rules, rules.hostile_while_empty, ".empty")] : []),
  ];
  return [
    [
      "rules.goal",
      [t("rules.goal.attackers"), t("rules.goal.defenders", { places: places(rules, rules.goal) })],
      "goal",
    ],
    [
      "rules.moving",
      [
        t(`rules.first.${rules.first}`),
        t("rules.move"),
        ...any(rules.closed, "rules.closed"),
        ...any(rules.king_only, "rules.king_only"),
        ...([...rules.closed, ...rules.king_only].includes(rules.throne) ? [t(`rules.cross.${kind}`)] : []),
      ],
      "moving",
    ],
    [
      "rules.capturing",
      [
        t("rules.capture"),
        t("rules.capture.mover"),
        t("rules.capture.between"),
        t(rules.king_armed ? "rules.king_armed" : "rules.king_unarmed"),
        ...(hostile.length ? [t("rules.hostile", { places: list(hostile) })] : []),
        t(rules.edge_hostile ? "rules.edge_hostile" : "rules.edge_safe"),
      ],
      "capturing",
    ],
    [
      "rules.king",
      [
        t("rules.king.two"),
        ...any(rules.hostile_to_king, "rules.king.hostile"),
        ...any(rules.king_surrounded, "rules.king.surrounded"),
        ...any(rules.king_walls, "rules.king.walls"),
      ],
      "king",
    ],
    [
      "rules.end",
      [
        t(`rules.no_moves.${rules.no_moves}`),
        t(`rules.repetition.${rules.repetition}`, { ordinal: ordinal(rules.repetition_limit) }),
        t("rules.repetition.same"),
        ...(rules.agreement ? [t("rules.agreement")] : []),
        ...(!rules.agreement && rules.no_moves === "loss" && rules.repetition === "loss" ? [t("rules.no_draws")] : []),
        t("rules.resign"),
      ],
      "end",
    ],
  ];
}
