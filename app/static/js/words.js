// What happens in a game, in words.

import { has, list, ordinal, t } from "./language.js";

const KINDS = { t: "attacker", T: "defender", K: "king" };

/** A move for screen readers: who moved, what was taken. */
export function moveWords(move) {
  const said = t(`game.said.${move.side}`, { move: move.move });
  return `${said}${move.captured.length ? `, ${t("game.said.captured", { squares: list(move.captured) })}` : ""}.`;
}

/** A square for screen readers. */
export function squareLabel(rules, name, piece, { target = false, marked = false } = {}) {
  const words = [name, t(piece ? `piece.${KINDS[piece]}` : "square.empty")];
  if (name === rules.throne) words.push(t(rules.closed.includes(name) ? "square.castle" : "square.throne"));
  else if (rules.goal.includes(name)) words.push(t("square.goal"));
  else if (rules.king_only.includes(name)) words.push(t("square.king_only"));
  if (target) words.push(t("square.target"));
  if (marked) words.push(t("square.marked"));
  return words.join(t("list.separator"));
}

/** Who won, told to the person who played `me`, or to onlookers. */
export function endTitle(game, me) {
  const { winner } = game.outcome;
  if (winner === null) return t("end.draw");
  if (me) return t(winner === me ? "end.you_win" : "end.you_lose");
  return t(`end.${winner}_win`);
}

/** Why a game ended. */
export function reasonWords(outcome, rules) {
  const loser = outcome.winner && (outcome.winner === "attackers" ? "defenders" : "attackers");
  const special = `reason.${outcome.reason}.${loser}`;
  return t(has(special) ? special : `reason.${outcome.reason}`, { ordinal: ordinal(rules.repetition_limit) });
}

/** A result in short: who won. */
export const resultWords = (winner) => t(winner ? `end.${winner}_win` : "end.draw");
