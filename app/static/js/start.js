// The first view: game, side, strength, and one button.

import { Board } from "./board.js";
import { button, el, iconOf, memory } from "./dom.js";
import { has, t } from "./language.js";
import { attempt } from "./notes.js";
import { engineWords } from "./players.js";
import { post } from "./server.js";
import { other, parsePosition } from "./squares.js";

let beginning = false;

/** Begins a game on the server and goes to it; `ply` is the one to look at first, the last unless given. */
export async function begin(request, ply) {
  if (beginning) return; // a double click begins one game
  beginning = true;
  let game;
  try {
    game = await post("/api/games", request);
  } finally {
    beginning = false;
  }
  memory.set("last", game.id);
  location.hash = `game=${game.id}${ply === undefined ? "" : `&ply=${ply}`}`;
}

/** The name of a start of a game, for people. */
export function layoutName(game, layout) {
  return layout.default || !has(`layout.name.${layout.layout}`)
    ? game.title
    : `${game.title} – ${t(`layout.name.${layout.layout}`)}`;
}

/** Radio buttons as cards: `[{value, content}]`. */
function choices(name, title, items, chosen, onchange) {
  return el(
    "fieldset",
    { class: `choices ${name}` },
    el("legend", {}, title),
    items.map(({ value, content }) =>
      el(
        "label",
        { class: "choice" },
        el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
        el("span", { class: "card" }, content),
      ),
    ),
  );
}

export function startView(host, _, about) {
  const layouts = about.games.flatMap((game) =>
    game.layouts.map((layout) => ({ game, layout, key: `${game.game}/${layout.layout}` })),
  );
  const wanted = { layout: layouts[0].key, side: "attackers", level: about.default_level, ...memory.get("wanted", {}) };
  if (!layouts.some(({ key }) => key === wanted.layout)) wanted.layout = layouts[0].key;
  const keep = (name) => (value) => {
    wanted[name] = value;
    memory.set("wanted", wanted);
    if (name === "layout") strength.replaceWith((strength = levels()));
    if (name === "side") strength.hidden = value === "both";
  };
  const chosen = () => layouts.find(({ key }) => key === wanted.layout);

  const play = attempt(async () => {
    const { game, layout } = chosen();
    const engine = { kind: "level", level: wanted.level };
    const players = { attackers: { kind: "person" }, defenders: { kind: "person" } };
    if (wanted.side !== "both") players[other(wanted.side)] = engine;
    await begin({ game: game.game, layout: layout.layout, ...players });
  });

  const pictures = layouts.map(({ game, layout, key }) => {
    const frame = el("span", { class: "thumb" });
    const board = new Board(frame, game, { plain: true });
    board.show(parsePosition(game.size, layout.position));
    board.root.setAttribute("aria-hidden", "true");
    return {
      value: key,
      content: [
        frame,
        el(
          "span",
          { class: "words" },
          el("b", {}, layoutName(game, layout)),
          el("small", {}, t(`layout.${key.replace("/", ".")}`)),
        ),
      ],
    };
  });
  const sides = ["attackers", "defenders", "both"].map((side) => ({
    value: side,
    content: [
      el("b", {}, t(side === "both" ? "start.side.both" : `side.${side}`)),
      el("small", {}, t(side === "both" ? "start.side.both.meaning" : `start.side.${side}`)),
    ],
  }));
  const levels = () => {
    const offered = chosen().game.levels;
    if (!offered.some(({ level }) => level === wanted.level)) wanted.level = about.default_level;
    const items = offered.map((level) => ({
      value: level.level,
      content: [
        el("b", {}, t(`level.${level.level}.name`)),
        el("small", {}, t(`level.${level.level}.meaning`)),
        el("small", { class: "engine", dir: "auto" }, engineWords(level)),
      ],
    }));
    const box = choices("level", t("start.strength"), items, wanted.level, keep("level"));
    box.hidden = wanted.side === "both";
    return box;
  };
  let strength = levels();

  const last = memory.get("last");
  const more = [
    ["watch", "eye"],
    ["selfplay", "play"],
    ["edit", "pen"],
    ["load", "share"],
  ];
  host.append(
    el("h1", {}, t("start.title")),
    el(
      "div",
      { class: "columns" },
      choices("layout", t("start.game"), pictures, wanted.layout, keep("layout")),
      el(
        "div",
        { class: "side-and-strength" },
        choices("side", t("start.side"), sides, wanted.side, keep("side")),
        strength,
      ),
    ),
    el(
      "div",
      { class: "begin" },
      button(t("action.play"), play, { class: "primary large", id: "play" }),
      last && el("a", { href: `#game=${last}`, class: "button" }, t("start.continue")),
    ),
    el("h2", {}, t("start.more")),
    el(
      "ul",
      { class: "tiles" },
      more.map(([name, icon]) =>
        el(
          "li",
          {},
          el(
            "a",
            { href: `#${name}`, class: "tile" },
            iconOf(icon),
            el("span", {}, el("b", {}, t(`start.${name}`)), el("small", {}, t(`start.${name}.meaning`))),
          ),
        ),
      ),
    ),
  );
}
