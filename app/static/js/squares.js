// Squares and positions. A square is an index, rank * size + file, a1 being 0; a board is an array of "", "t", "T" and
// "K". Nothing here knows the rules: which moves there are, and what they take, is for the server to say.

export const SIDES = ["attackers", "defenders"];

export const other = (side) => SIDES[1 - SIDES.indexOf(side)];

export const sideOf = (piece) => (piece === "t" ? "attackers" : piece ? "defenders" : null);

/** The name of a square by its index. */
export function squareName(size, square) {
  return String.fromCharCode(97 + (square % size)) + (Math.floor(square / size) + 1);
}

/** The index of a square given by name, -1 if there is no such square. */
export function squareIndex(size, name) {
  const match = /^([a-z])([1-9]\d?)$/.exec(name ?? "");
  if (!match) return -1;
  const file = match[1].charCodeAt(0) - 97;
  const rank = Number(match[2]) - 1;
  return file < size && rank < size ? rank * size + file : -1;
}

/** A board from the text of a position (ranks from the top). */
export function parsePosition(size, text) {
  const board = new Array(size * size).fill("");
  const ranks = text.split("/").slice(1, -1);
  ranks.forEach((rank, row) => {
    let file = 0;
    for (const [part] of rank.matchAll(/\d+|[tTK]/g)) {
      if (/\d/.test(part)) file += Number(part);
      else board[(size - 1 - row) * size + file++] = part;
    }
  });
  return board;
}

/** The name of the square that a character of a position's text stands for; columns count from 1. */
export function squareOfColumn(size, text, column) {
  const [, ...ranks] = text.slice(0, column - 1).split("/");
  const files = [...ranks.at(-1).matchAll(/\d+|[^\d]/g)].reduce((sum, [part]) => sum + (Number(part) || 1), 0);
  return squareName(size, (size - ranks.length) * size + files);
}

/** The text of a position from its board. */
export function formatPosition(size, board) {
  const ranks = [];
  for (let rank = size - 1; rank >= 0; rank--) {
    const row = board.slice(rank * size, rank * size + size).map((piece) => piece || ".");
    ranks.push(row.join("").replace(/\.+/g, (run) => run.length));
  }
  return `/${ranks.join("/")}/`;
}

/** The two squares of a move such as "d1-c1", as indices. */
export function moveSquares(size, move) {
  return move.split("-").map((name) => squareIndex(size, name));
}

/** The board after a move that takes soldiers on the squares named. */
export function afterMove(size, board, move, captured = []) {
  const next = board.slice();
  const [origin, target] = moveSquares(size, move);
  next[target] = next[origin];
  next[origin] = "";
  for (const name of captured) next[squareIndex(size, name)] = "";
  return next;
}
