// Who sits at the board: playing again, changing players, and running a game between two engines.

import { button, el, memory } from "./dom.js";
import { number, t } from "./language.js";
import { attempt, dialog } from "./notes.js";
import { playerPicker } from "./players.js";
import { SIDES, other } from "./squares.js";
import { begin } from "./start.js";

const DELAYS = [0, 0.5, 1, 2, 5];
const PARTS = ["kind", "version", "level", "depth", "nodes", "noise", "seconds", "simulations", "checkpoint"];

/** A player of a game view, as the server takes one. */
export function plain(player) {
  return Object.fromEntries(
    PARTS.filter((part) => player[part] !== undefined && player[part] !== null).map((part) => [part, player[part]]),
  );
}

/** Buttons for another game like this one. */
export function playAgain(view) {
  const { game } = view;
  const start = game.layout ? { layout: game.layout } : { position: game.start.position, to_play: game.start.to_play };
  const again = (swap) =>
    attempt(() => {
      const players = Object.fromEntries(SIDES.map((side) => [side, plain(game.players[swap ? other(side) : side])]));
      return begin({ game: game.game, ...start, ...players });
    });
  const buttons = [button(t("action.again"), again(false), { class: "primary" })];
  if (view.me) buttons.push(button(t("action.swap"), again(true)));
  buttons.push(el("a", { class: "button", href: "#" }, t("action.new")));
  return buttons;
}

/** A dialog to put other players at the board. */
export function changePlayers(view) {
  const { game, rules, about } = view;
  const kinds = ["person", "level", "checkpoint", "alphabeta", "alphabeta:v2", "random"];
  const pickers = Object.fromEntries(
    SIDES.map((side) => [
      side,
      playerPicker(rules, about.limits, { kinds, chosen: game.players[side], label: t(`side.${side}`) }),
    ]),
  );
  const box = dialog(
    t("action.players"),
    SIDES.map((side) => el("section", {}, el("h3", {}, t(`side.${side}`)), pickers[side].node)),
    el(
      "div",
      { class: "row end" },
      button(t("app.cancel"), () => box.close()),
      button(
        t("action.players"),
        attempt(async () => {
          await view.command("players", Object.fromEntries(SIDES.map((side) => [side, pickers[side].value()])));
          box.close();
        }),
        { class: "primary" },
      ),
    ),
  );
}

/** Buttons to run, pause and step a game that engines play. */
export function engineControls(view) {
  const { game } = view;
  const { can } = game;
  if (view.persons.length || game.outcome) return [];
  const run = (running, delay = game.delay) => attempt(() => view.command("run", { running, delay }));
  const speed = el(
    "select",
    {
      "aria-label": t("game.delay"),
      title: t("game.delay"),
      onchange: ({ target }) => (memory.set("delay", Number(target.value)), run(game.running, Number(target.value))()),
    },
    DELAYS.map((delay) => el("option", { value: delay, selected: delay === game.delay }, `${number(delay)} s`)),
  );
  return [
    game.running
      ? button(t("action.pause"), run(false), { icon: "pause", label: t("action.pause"), data: { action: "pause" } })
      : button(t("action.run"), run(true), {
          icon: "play",
          label: t("action.run"),
          class: "mirrored",
          data: { action: "run" },
          disabled: !can.run,
        }),
    button(
      t("action.step"),
      attempt(() => view.command("step")),
      { icon: "forward", label: t("action.step"), class: "mirrored", data: { action: "step" }, disabled: !can.step },
    ),
    speed,
  ];
}
