// Who plays: names of players, and a form to choose one.

import { el } from "./dom.js";
import { number, percent, t } from "./language.js";
import { get } from "./server.js";

/** The name of a player for people. */
export function playerName(player) {
  const limit = player.seconds ? `${number(player.seconds)} s` : player.simulations ? number(player.simulations) : "";
  switch (player.kind) {
    case "person":
      return t("player.person");
    case "level":
      return t(`level.${player.level}.name`);
    case "random":
      return t("player.random");
    case "alphabeta": {
      if (player.nodes) return `${t("player.alphabeta")} ${player.version} (${number(player.nodes)})`;
      const name = player.depth
        ? t("engine.alphabeta.depth", { depth: player.depth })
        : t("engine.alphabeta.seconds", { seconds: number(player.seconds) });
      return player.version ? `${name} (${player.version})` : name;
    }
    default:
      return limit ? `${player.checkpoint} (${limit})` : player.checkpoint;
  }
}

/** What plays behind a named level, in words. */
export function engineWords(level) {
  const values = {
    depth: level.depth,
    seconds: level.seconds && number(level.seconds),
    simulations: level.simulations && number(level.simulations),
    checkpoint: level.checkpoint,
  };
  let words = t("engine.random");
  if (level.engine === "network") words = t(level.simulations ? "engine.network" : "engine.network.seconds", values);
  if (level.engine === "alphabeta")
    words = t(level.depth ? "engine.alphabeta.depth" : "engine.alphabeta.seconds", values);
  return level.mistakes ? `${words}; ${t("engine.mistakes", { share: percent(level.mistakes) })}` : words;
}

let serial = 0;

/**
 * A form to choose a player of a game.
 *
 * Returns {node, value(), ready}; `kinds` are those offered, `chosen` the player to begin with.
 */
export function playerPicker(game, limits, { kinds, chosen, label }) {
  const id = `picker${++serial}`;
  const fields = {};
  const kind = el(
    "select",
    { "aria-label": `${label}: ${t("player.kind")}` },
    kinds.map((name) => {
      const [plain, version] = name.split(":");
      const selected = plain === chosen?.kind && version === chosen?.version;
      return el("option", { value: name, selected }, `${t(`player.${plain}`)} ${version ?? ""}`.trim());
    }),
  );
  const field = (name, node) =>
    (fields[name] = {
      node,
      row: el("label", { class: "field", for: `${id}-${name}` }, el("span", {}, t(`player.${name}`)), node),
    });
  const count = (name, value, min, max) =>
    field(name, el("input", { id: `${id}-${name}`, type: "number", min, max, value, inputmode: "numeric" }));
  field(
    "level",
    el(
      "select",
      { id: `${id}-level` },
      game.levels.map(({ level }) =>
        el("option", { value: level, selected: level === (chosen?.level ?? "normal") }, t(`level.${level}.name`)),
      ),
    ),
  );
  field("checkpoint", el("select", { id: `${id}-checkpoint` }));
  count("simulations", chosen?.simulations ?? 256, 1, limits.simulations);
  count("depth", chosen?.depth ?? 4, 1, limits.depth);
  const nothing = el("p", { class: "small" }, t("player.none"));
  const shown = {
    person: [],
    random: [],
    level: ["level"],
    checkpoint: ["checkpoint", "simulations"],
    alphabeta: ["depth"],
    "alphabeta:v2": ["depth"],
  };
  const node = el(
    "div",
    { class: "picker" },
    kind,
    Object.values(fields).map(({ row }) => row),
    nothing,
  );
  let known = true;

  const update = () => {
    for (const [name, { row }] of Object.entries(fields))
      row.hidden = !shown[kind.value].includes(name) || (kind.value === "checkpoint" && !known);
    nothing.hidden = kind.value !== "checkpoint" || known;
  };
  kind.addEventListener("change", update);
  const ready = get(`/api/checkpoints?game=${game.game}`).then(({ checkpoints }) => {
    known = checkpoints.length > 0;
    fields.checkpoint.node.replaceChildren(
      ...checkpoints.map(({ checkpoint }) =>
        el("option", { value: checkpoint, selected: checkpoint === chosen?.checkpoint }, checkpoint),
      ),
    );
    update();
  });
  update();
  const bounded = (name) => {
    const { node: input } = fields[name];
    const value = Math.round(Number(input.value));
    return Math.max(Number(input.min), Math.min(Number(input.max), value || Number(input.min)));
  };
  return {
    node,
    ready,
    value() {
      const [plain, version] = kind.value.split(":");
      const player = version ? { kind: plain, version } : { kind: plain };
      if (player.kind === "level") player.level = fields.level.node.value;
      if (player.kind === "alphabeta") player.depth = bounded("depth");
      if (player.kind === "checkpoint") {
        if (!known) return { kind: "level", level: "normal" };
        player.checkpoint = fields.checkpoint.node.value;
        player.simulations = bounded("simulations");
      }
      return player;
    },
  };
}
