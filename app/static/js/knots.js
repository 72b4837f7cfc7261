// Interlaced bands for the carved squares. A knot is one or more closed curves; where they cross, the band that is on
// top changes from crossing to crossing along each of them, as in every alternating knot.

const SAMPLES = 180;

/** Points of a closed curve, from a function of an angle. */
function curve(at) {
  return Array.from({ length: SAMPLES }, (_, index) => at((2 * Math.PI * index) / SAMPLES));
}

const KNOTS = {
  // Four loops about the middle, held by a ring.
  throne: [
    curve((t) => [0.46 * Math.cos(t) + 0.4 * Math.cos(-3 * t), 0.46 * Math.sin(t) + 0.4 * Math.sin(-3 * t)]),
    curve((t) => [0.5 * Math.cos(t), 0.5 * Math.sin(t)]),
  ],
  // Two long loops across each other.
  corner: [
    curve((t) => turn(0.8 * Math.cos(t), 0.34 * Math.sin(t), Math.PI / 4)),
    curve((t) => turn(0.8 * Math.cos(t), 0.34 * Math.sin(t), -Math.PI / 4)),
  ],
};

function turn(x, y, angle) {
  return [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
}

/** Where two segments cross, as shares of both, or null. */
function crossing([ax, ay], [bx, by], [cx, cy], [dx, dy]) {
  const area = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
  if (Math.abs(area) < 1e-12) return null;
  const first = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / area;
  const second = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / area;
  return first >= 0 && first < 1 && second >= 0 && second < 1 ? [first, second] : null;
}

/** Places where some curve passes over another or itself: [curve, position along it]. */
function overpasses(curves) {
  const visits = curves.map(() => []);
  let count = 0;
  for (let a = 0; a < curves.length; a++) {
    for (let b = a; b < curves.length; b++) {
      for (let i = 0; i < SAMPLES; i++) {
        for (let j = a === b ? i + 2 : 0; j < SAMPLES; j++) {
          if (a === b && i === 0 && j === SAMPLES - 1) continue;
          const one = curves[a],
            two = curves[b];
          const met = crossing(one[i], one[(i + 1) % SAMPLES], two[j], two[(j + 1) % SAMPLES]);
          if (!met) continue;
          visits[a].push({ at: i + met[0], id: count });
          visits[b].push({ at: j + met[1], id: count });
          count++;
        }
      }
    }
  }
  const upper = new Map(); // crossing -> [curve, position]
  const placed = new Set();
  visits.forEach((along, index) => {
    along.sort((x, y) => x.at - y.at);
    // The first crossing already decided by an earlier curve sets the beat of this one.
    const known = along.findIndex(({ id }) => placed.has(id));
    const parity = known < 0 ? 0 : (known + (upper.get(along[known].id)[0] < index ? 1 : 0)) % 2;
    const seen = new Set();
    along.forEach(({ at, id }, order) => {
      if (placed.has(id)) return;
      const own = visits[index].filter((visit) => visit.id === id).length === 2;
      const over = order % 2 === parity;
      if (own) {
        if (over) {
          upper.set(id, [index, at]);
          placed.add(id);
        }
      } else if (!seen.has(id)) {
        seen.add(id);
        const rest = visits.findIndex((visit, i) => i !== index && visit.some((v) => v.id === id));
        upper.set(id, over ? [index, at] : [rest, visits[rest].find((v) => v.id === id).at]);
        placed.add(id);
      }
    });
  });
  return [...upper.values()];
}

const place = ([x, y], cx, cy, radius) => `${(cx + x * radius).toFixed(1)} ${(cy + y * radius).toFixed(1)}`;

const overs = Object.fromEntries(Object.entries(KNOTS).map(([name, curves]) => [name, overpasses(curves)]));

/**
 * Paths of a knot about (cx, cy).
 *
 * Returns {bands, bridges}: closed paths of the whole curves, and short open ones to be drawn over them afterwards.
 */
export function knotPaths(name, cx, cy, radius, reach = 6) {
  const curves = KNOTS[name];
  const bands = curves.map((points) => `M${points.map((point) => place(point, cx, cy, radius)).join("L")}Z`);
  const bridges = overs[name].map(([index, at]) => {
    const points = [];
    for (let step = -reach; step <= reach; step++) {
      const from = Math.floor(at) + step;
      points.push(curves[index][((from % SAMPLES) + SAMPLES) % SAMPLES]);
    }
    return `M${points.map((point) => place(point, cx, cy, radius)).join("L")}`;
  });
  return { bands, bridges };
}
