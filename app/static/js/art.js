// The carved board: what does not change during a game. A square is UNIT wide; what it looks like follows from the
// rules that the server sends (goal, king_only, closed, throne), never from the name of a game.

import { svg } from "./dom.js";
import { knotPaths } from "./knots.js";
import { squareName } from "./squares.js";

export const UNIT = 100;
export const FRAME = 58;

const OAK = ["#d3a468", "#c9985b", "#dcb077", "#cfa063"];
const HONEY = "#e3b45c";

/** Numbers in [0, 1) that are the same at every call with the same seed (mulberry32). */
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Left upper corner of a square in drawing units; `flipped` turns the board round. */
export function corner(size, square, flipped = false) {
  const file = square % size;
  const rank = Math.floor(square / size);
  return flipped
    ? [FRAME + (size - 1 - file) * UNIT, FRAME + rank * UNIT]
    : [FRAME + file * UNIT, FRAME + (size - 1 - rank) * UNIT];
}

/** A path cut into wood: its far wall in light, its near wall in shade. */
function carved(path, width, depth = 1) {
  return [
    svg("path", {
      d: path,
      fill: "none",
      stroke: "#ffe3ae",
      "stroke-opacity": 0.75,
      "stroke-width": width,
      transform: `translate(${1.8 * depth} ${1.8 * depth})`,
    }),
    svg("path", { d: path, fill: "none", stroke: "#5a3411", "stroke-width": width }),
  ];
}

/** An interlaced band, raised from the ground. */
function knot(name, cx, cy, radius, width) {
  const { bands, bridges } = knotPaths(name, cx, cy, radius);
  const strand = (d, cap) => [
    svg("path", {
      d,
      fill: "none",
      stroke: "#4a290b",
      "stroke-width": width + 5,
      "stroke-linejoin": "round",
      "stroke-linecap": cap,
    }),
    svg("path", {
      d,
      fill: "none",
      stroke: "#f0c877",
      "stroke-width": width,
      "stroke-linejoin": "round",
      "stroke-linecap": cap === "butt" ? "square" : cap,
    }),
    svg("path", {
      d,
      fill: "none",
      stroke: "#fff0c4",
      "stroke-opacity": 0.55,
      "stroke-width": width * 0.28,
      "stroke-linejoin": "round",
      transform: "translate(-0.8 -0.8)",
    }),
  ];
  return [...bands.map((d) => strand(d, "round")), ...bridges.map((d) => strand(d, "butt"))];
}

function rectPath(x, y, side, inset) {
  const end = side - 2 * inset;
  return `M${x + inset} ${y + inset}h${end}v${end}h${-end}Z`;
}

/** The battlements of a castle, seen from above: a wall with a tooth in, a tooth out. */
function battlements(x, y) {
  const inner = 15,
    tooth = 10,
    count = 7;
  let path = `M${x + inner} ${y + inner}`;
  const steps = [
    [1, 0, 0, -1],
    [0, 1, 1, 0],
    [-1, 0, 0, 1],
    [0, -1, -1, 0],
  ];
  for (const [dx, dy, ox, oy] of steps) {
    for (let index = 0; index < count; index++) {
      const out = index % 2 ? 0 : 6;
      path += `l${ox * out} ${oy * out}l${dx * tooth} ${dy * tooth}l${-ox * out} ${-oy * out}`;
    }
  }
  return `${path}Z`;
}

/** What is carved into a square of special meaning; nothing on others. */
function ornament(rules, name, x, y) {
  const cx = x + UNIT / 2,
    cy = y + UNIT / 2;
  const closed = rules.closed.includes(name);
  const parts = [];
  if (closed) parts.push(carved(battlements(x, y), 3.2));
  if (name === rules.throne) {
    if (!closed) parts.push(carved(rectPath(x, y, UNIT, 8), 3));
    parts.push(knot("throne", cx, cy, closed ? 36 : 44, 6.5));
  } else if (rules.king_only.includes(name)) {
    parts.push(carved(rectPath(x, y, UNIT, 8), 3), knot("corner", cx, cy, 42, 7));
  } else if (rules.goal.includes(name)) {
    parts.push(carved(`M${cx} ${cy - 17}L${cx + 17} ${cy}L${cx} ${cy + 17}L${cx - 17} ${cy}Z`, 3));
    parts.push(carved(`M${cx} ${cy - 7}L${cx + 7} ${cy}L${cx} ${cy + 7}L${cx - 7} ${cy}Z`, 2.4));
  }
  return parts;
}

/** Lines of the grain of all squares, as three paths by darkness. */
function grain(size) {
  const roll = dice(size * 7919);
  const tones = [
    { width: 5, opacity: 0.1, d: "" },
    { width: 1.6, opacity: 0.28, d: "" },
    { width: 2.4, opacity: 0.16, d: "", light: true },
  ];
  for (let square = 0; square < size * size; square++) {
    const [x, y] = corner(size, square);
    const upright = (square % size) % 2 === Math.floor(square / size) % 2;
    const count = 7;
    for (let line = 0; line < count; line++) {
      const at = ((line + 0.25 + 0.5 * roll()) / count) * UNIT;
      const bend = (roll() - 0.5) * 16;
      const tail = Math.max(3, Math.min(UNIT - 3, at + (roll() - 0.5) * 12));
      const tone = tones[Math.floor(roll() * 3)];
      const bow = Math.max(2, Math.min(UNIT - 2, at + bend));
      tone.d += upright
        ? `M${(x + at).toFixed(0)} ${y + 2}Q${(x + bow).toFixed(0)} ${y + 50} ${(x + tail).toFixed(0)} ${y + 98}`
        : `M${x + 2} ${(y + at).toFixed(0)}Q${x + 50} ${(y + bow).toFixed(0)} ${x + 98} ${(y + tail).toFixed(0)}`;
    }
  }
  return tones.map(({ width, opacity, d, light }) =>
    svg("path", {
      d,
      fill: "none",
      stroke: light ? "#fff1cf" : "#6b3f14",
      "stroke-opacity": opacity,
      "stroke-width": width,
    }),
  );
}

/** Gradients and piece shapes; `id` keeps the names of several boards on one page apart. */
export function definitions(id) {
  const stops = (...pairs) =>
    pairs.map(([offset, colour, opacity]) => svg("stop", { offset, "stop-color": colour, "stop-opacity": opacity }));
  return svg(
    "defs",
    {},
    svg(
      "linearGradient",
      { id: `${id}-frame`, x1: 0, y1: 0, x2: 1, y2: 1 },
      stops([0, "#6b4527"], [0.5, "#4a2c17"], [1, "#33190b"]),
    ),
    svg("radialGradient", { id: `${id}-shadow` }, stops([0.55, "#1c0c02", 0.55], [1, "#1c0c02", 0])),
    svg(
      "radialGradient",
      { id: `${id}-dark`, cx: 0.36, cy: 0.3, r: 0.8 },
      stops([0, "#6a5d57"], [0.45, "#37302d"], [1, "#15110f"]),
    ),
    svg(
      "radialGradient",
      { id: `${id}-bone`, cx: 0.36, cy: 0.3, r: 0.8 },
      stops([0, "#fffdf4"], [0.55, "#f0e4c6"], [1, "#b59f74"]),
    ),
    svg(
      "linearGradient",
      { id: `${id}-gold`, x1: 0, y1: 0, x2: 1, y2: 1 },
      stops([0, "#ffe58f"], [0.5, "#dba22b"], [1, "#8a5a0d"]),
    ),
  );
}

function octagon(radius) {
  return Array.from({ length: 8 }, (_, index) => {
    const angle = ((index + 0.5) * Math.PI) / 4;
    return `${(radius * Math.cos(angle)).toFixed(1)},${(radius * Math.sin(angle)).toFixed(1)}`;
  }).join(" ");
}

/**
 * A piece about (0, 0). The three differ in outline and carving, not in colour alone: attackers are eight-sided stones
 * with a cross, defenders round discs with rings, the king a larger disc with a crown.
 */
export function pieceShape(id, piece) {
  const shadow = svg("ellipse", {
    cx: 5,
    cy: 7,
    rx: piece === "K" ? 48 : 43,
    ry: piece === "K" ? 47 : 42,
    fill: `url(#${id}-shadow)`,
  });
  if (piece === "t") {
    return [
      shadow,
      svg("polygon", {
        points: octagon(39),
        fill: `url(#${id}-dark)`,
        stroke: "#0c0908",
        "stroke-width": 2.5,
        "stroke-linejoin": "round",
      }),
      svg("polygon", {
        points: octagon(28),
        fill: "#2d2724",
        stroke: "#8a7a70",
        "stroke-opacity": 0.7,
        "stroke-width": 1.6,
      }),
      svg("path", { d: "M-12-12 12 12M12-12-12 12", stroke: "#0d0a09", "stroke-width": 6, "stroke-linecap": "round" }),
      svg("path", {
        d: "M-11.5-11.5 12 12M12-11.5-11.5 12",
        stroke: "#a89384",
        "stroke-width": 2.6,
        "stroke-linecap": "round",
      }),
    ];
  }
  if (piece === "T") {
    return [
      shadow,
      svg("circle", { r: 37, fill: `url(#${id}-bone)`, stroke: "#6e5a33", "stroke-width": 2.5 }),
      svg("circle", { r: 25, fill: "none", stroke: "#927a4b", "stroke-width": 3 }),
      svg("circle", { r: 25, fill: "none", stroke: "#fffbe8", "stroke-width": 1.2, transform: "translate(1 1)" }),
      svg("circle", { r: 8, fill: "#c9b387", stroke: "#927a4b", "stroke-width": 2.5 }),
    ];
  }
  return [
    shadow,
    svg("circle", { r: 43, fill: `url(#${id}-bone)`, stroke: "#6e4c0f", "stroke-width": 2 }),
    svg("circle", { r: 38.5, fill: "none", stroke: `url(#${id}-gold)`, "stroke-width": 6 }),
    svg("path", {
      d: "M-22 17-27-11-13 0 0-23 13 0 27-11 22 17Z",
      fill: `url(#${id}-gold)`,
      stroke: "#5f3f08",
      "stroke-width": 2.6,
      "stroke-linejoin": "round",
    }),
    svg("path", { d: "M-20 10H20", stroke: "#5f3f08", "stroke-width": 2.4 }),
    [
      [-27, -12],
      [0, -24],
      [27, -12],
    ].map(([cx, cy]) => svg("circle", { cx, cy, r: 4, fill: "#f6cf62", stroke: "#5f3f08", "stroke-width": 1.8 })),
  ];
}

/** A piece as a little picture. */
export function pieceIcon(piece) {
  const id = `icon${piece}`;
  return svg(
    "svg",
    { class: "piece-icon", viewBox: "-50 -50 100 100", "aria-hidden": "true" },
    definitions(id),
    pieceShape(id, piece),
  );
}

/** The board without pieces: frame, squares, grooves, ornaments, labels. `plain` leaves grain and frame light. */
export function boardArt(rules, id, { flipped = false, plain = false } = {}) {
  const { size } = rules;
  const side = size * UNIT;
  const whole = side + 2 * FRAME;
  const roll = dice(size);
  const squares = [];
  const ornaments = [];
  for (let square = 0; square < size * size; square++) {
    const name = squareName(size, square);
    const [x, y] = corner(size, square, flipped);
    const special = rules.goal.includes(name) || rules.king_only.includes(name) || rules.closed.includes(name);
    const tone = OAK[Math.floor(roll() * OAK.length)];
    squares.push(svg("rect", { x, y, width: UNIT, height: UNIT, fill: special ? HONEY : tone }));
    ornaments.push(...ornament(rules, name, x, y).flat());
  }
  let grooves = "";
  for (let line = 1; line < size; line++) {
    grooves += `M${FRAME + line * UNIT} ${FRAME}v${side}M${FRAME} ${FRAME + line * UNIT}h${side}`;
  }
  const labels = [];
  for (let index = 0; index < size; index++) {
    const file = String.fromCharCode(97 + (flipped ? size - 1 - index : index));
    const rank = flipped ? index + 1 : size - index;
    const middle = FRAME + (index + 0.5) * UNIT;
    labels.push([file, middle, whole - FRAME * 0.46], [rank, FRAME * 0.46, middle]);
    if (!plain) labels.push([file, middle, FRAME * 0.46], [rank, whole - FRAME * 0.46, middle]);
  }
  const text = {
    "text-anchor": "middle",
    "dominant-baseline": "central",
    "font-family": "Georgia, 'DejaVu Serif', 'Noto Serif', serif",
    "font-size": 28,
    direction: "ltr",
  };
  return svg(
    "g",
    { class: "art", "aria-hidden": "true" },
    svg("rect", { width: whole, height: whole, rx: 14, fill: `url(#${id}-frame)` }),
    svg("rect", {
      x: 5,
      y: 5,
      width: whole - 10,
      height: whole - 10,
      rx: 10,
      fill: "none",
      stroke: "#a87b4b",
      "stroke-opacity": 0.45,
      "stroke-width": 2,
    }),
    svg("rect", { x: FRAME - 8, y: FRAME - 8, width: side + 16, height: side + 16, rx: 3, fill: "#2a1508" }),
    svg("rect", {
      x: FRAME - 4,
      y: FRAME - 4,
      width: side + 8,
      height: side + 8,
      fill: "none",
      stroke: "#c79a5b",
      "stroke-opacity": 0.5,
      "stroke-width": 1.6,
    }),
    svg("g", {}, squares),
    plain ? null : svg("g", { transform: flipped ? `rotate(180 ${whole / 2} ${whole / 2})` : null }, grain(size)),
    svg("path", {
      d: grooves,
      stroke: "#ffe3ae",
      "stroke-opacity": 0.55,
      "stroke-width": 2,
      transform: "translate(2 2)",
    }),
    svg("path", { d: grooves, stroke: "#5a3411", "stroke-opacity": 0.85, "stroke-width": 2.6 }),
    svg("g", {}, ornaments),
    svg(
      "g",
      text,
      labels.map(([label, x, y]) => svg("text", { x, y, fill: "#e9c892" }, String(label))),
    ),
    // A veil that the style sheet draws over the wood at night; a filter would be computed anew while a piece moves.
    svg("rect", { class: "dusk", width: whole, height: whole, rx: 14, fill: "#000", "fill-opacity": 0 }),
  );
}
