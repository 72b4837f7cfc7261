// What stands beside the board: the two sides, what is going on, what can be done.

import { pieceIcon } from "./art.js";
import { button, el, memory } from "./dom.js";
import { ordinal, t } from "./language.js";
import { ask, attempt } from "./notes.js";
import { playerName } from "./players.js";
import { changePlayers, engineControls, playAgain } from "./seats.js";
import { other, parsePosition } from "./squares.js";
import { endTitle, reasonWords } from "./words.js";

/** A side of the game: who plays it, what it has lost, whether it is thinking. */
export function seatBox(view, side) {
  const { game } = view;
  const lost = (piece) =>
    parsePosition(view.rules.size, game.start.position).filter((one) => one === piece).length -
    view.at(view.ply).board.filter((one) => one === piece).length;
  const piece = side === "attackers" ? "t" : "T";
  const count = lost(piece);
  const active = !game.outcome && game.to_play === side;
  return el(
    "div",
    { class: ["seat", active && "active"], data: { side } },
    pieceIcon(side === "attackers" ? "t" : "K"),
    el(
      "div",
      { class: "who" },
      el("b", {}, t(`side.${side}`)),
      el("small", { dir: "auto" }, view.me === side ? t("player.you") : playerName(game.players[side])),
    ),
    count
      ? el(
          "span",
          { class: "taken", title: t("game.captured"), "aria-label": `${t("game.captured")}: ${count}` },
          pieceIcon(piece),
          `× ${count}`,
        )
      : null,
    game.thinking === side && el("span", { class: "spinner", "aria-hidden": "true" }),
  );
}

/** What is going on: whose turn it is or how the game ended, and what one should know. */
export function statusParts(view) {
  const { game, rules } = view;
  const parts = [];
  if (game.outcome && view.present) {
    const result = game.outcome.winner === null ? "draw" : view.me && game.outcome.winner !== view.me ? "lost" : "won";
    parts.push(
      el(
        "div",
        { class: ["banner", result] },
        el("h2", {}, endTitle(game, view.me)),
        el("p", {}, reasonWords(game.outcome, rules)),
        el("p", { class: "small" }, t("end.plies", { plies: game.ply })),
        el("div", { class: "row" }, playAgain(view)),
      ),
    );
  } else if (game.outcome) {
    parts.push(el("p", { class: "turn" }, endTitle(game, view.me)));
  } else {
    const to = game.to_play;
    const mine = game.can.move && view.me;
    const key = game.thinking ? `game.thinking.${game.thinking}` : mine ? `game.your_turn.${to}` : `game.turn.${to}`;
    parts.push(el("p", { class: ["turn", mine && "mine"] }, t(key)));
  }
  if (!view.present) {
    parts.push(
      el(
        "p",
        { class: "past" },
        t("game.past", { ply: view.ply, plies: game.ply }),
        " ",
        button(t("action.last"), () => view.go(game.ply)),
        " ",
        button(
          t("game.past.on"),
          attempt(() => view.command("undo", { ply: view.ply })),
        ),
      ),
    );
  }
  const { occurrences } = view.at(view.ply);
  if (!game.outcome && occurrences > 1) {
    parts.push(
      el(
        "p",
        { class: "warning", role: "alert" },
        t(`game.repeated.${rules.repetition}`, { count: occurrences, ordinal: ordinal(rules.repetition_limit) }),
      ),
    );
  }
  if (game.draw_offered && !game.outcome && game.draw_offered !== view.me) {
    parts.push(
      el(
        "p",
        { class: "warning" },
        t(`game.offered.${game.draw_offered}`),
        " ",
        game.can.accept_draw &&
          button(
            t("action.accept_draw"),
            attempt(() => view.command("accept_draw")),
            { class: "primary" },
          ),
      ),
    );
  } else if (view.offering) parts.push(el("p", { class: "small" }, t("game.offering")));
  return parts;
}

/** Buttons for what can be done in the game. */
export function actionButtons(view) {
  const { game, rules } = view;
  const act = (name, icon, work, options = {}) =>
    button(t(`action.${name}`), attempt(work), {
      icon,
      label: t(`action.${name}`),
      data: { action: name },
      ...options,
    });
  const going = !game.outcome && view.persons.length > 0;
  return [
    ...engineControls(view),
    act("undo", "undo", () => view.command("undo"), { disabled: !game.can.undo }),
    act("flip", "flip", () => {
      view.board.flip(!view.board.flipped);
      view.board.hand.settle();
      memory.set("flipped", view.board.flipped);
    }),
    act("hint", "bulb", () => view.hint(), { disabled: !game.can.move }),
    rules.agreement &&
      act("offer_draw", "hands", () => offer(view), { disabled: !going, "aria-pressed": String(view.offering) }),
    act("resign", "flag", () => resign(view), { disabled: !game.can.resign }),
    act("players", "people", () => changePlayers(view)),
  ].filter(Boolean);
}

/** Offers a draw: for the side that has just moved if that was a person, else together with the next move. */
async function offer(view) {
  const { game } = view;
  const mover = other(game.to_play);
  if (game.ply && game.players[mover].kind === "person" && game.to_play !== view.me) {
    await view.command("offer_draw");
    return;
  }
  view.offering = !view.offering;
  view.refresh();
}

async function resign(view) {
  if (!(await ask(t("game.resign.ask"), t("action.resign")))) return;
  const side = view.me ?? view.game.to_play;
  await view.command("resign", { side });
}

/** Puts new buttons in place of old ones without taking the keyboard's focus from the one it is on. */
export function replaceActions(host, buttons) {
  const focused = host.contains(document.activeElement) ? document.activeElement.dataset.action : null;
  host.replaceChildren(...buttons);
  if (focused) host.querySelector(`[data-action="${focused}"]`)?.focus();
}
