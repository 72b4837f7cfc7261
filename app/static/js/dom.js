// Small helpers around the document: elements by one call, files to and from the person.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class")
      node.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Makes an HTML element: attributes (`onclick`, `class`, `data` understood), then children or texts. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A button; with `icon`, its text becomes the tooltip, unless there is a `label` beside the icon. */
export function button(text, onclick, options = {}) {
  const { icon, label, ...attributes } = options;
  if (!icon) return el("button", { type: "button", onclick, ...attributes }, text);
  if (label) return el("button", { type: "button", onclick, ...attributes }, iconOf(icon), el("span", {}, label));
  return el("button", { type: "button", onclick, title: text, "aria-label": text, ...attributes }, iconOf(icon));
}

const ICONS = {
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  flip: "M7 4v16m0 0-3-3m3 3 3-3M17 20V4m0 0-3 3m3-3 3 3",
  flag: "M5 21V4m0 0h12l-3 4 3 4H5",
  hands: "M4 12h16M4 12l4-4m-4 4 4 4m12-4-4-4m4 4-4 4",
  first: "M19 5 9 12l10 7zM5 5v14",
  back: "M16 5 6 12l10 7z",
  forward: "M8 5l10 7-10 7z",
  last: "M5 5l10 7-10 7zM19 5v14",
  play: "M7 4v16l13-8z",
  pause: "M7 4v16M17 4v16",
  plus: "M12 5v14M5 12h14",
  people:
    "M8 4a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM1.5 20c0-4 3-6 6.5-6s6.5 2 6.5 6" +
    "M16 4.5a3.2 3.2 0 0 1 0 6.2M17.5 14.2c3 .5 5 2.5 5 5.8",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zm10-3a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  book: "M12 6c-2-1.5-5-2-9-2v14c4 0 7 .5 9 2 2-1.5 5-2 9-2V4c-4 0-7 .5-9 2zm0 0v14",
  pen: "M4 20l1-5L16 4l4 4L9 19z",
  share: "M12 3v12m0-12L8 7m4-4 4 4M5 13v7h14v-7",
  moon: "M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 1v3m0 16v3M1 12h3m16 0h3M4 4l2 2m12 12 2 2M4 20l2-2M18 6l2-2",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  close: "M6 6l12 12M18 6 6 18",
  bulb: "M9 18h6m-5 3h4M12 3a6 6 0 0 0-4 10.5c.7.7 1 1.5 1 2.5h6c0-1 .3-1.8 1-2.5A6 6 0 0 0 12 3z",
};

/** A line drawing of 24 by 24 units in the colour of the text around it. */
export function iconOf(name) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    svg("path", {
      d: ICONS[name],
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 2,
      "stroke-linejoin": "round",
      "stroke-linecap": "round",
    }),
  );
}

/** Offers a file for download. */
export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Puts a text on the clipboard; false where the browser does not let us. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "off-screen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Values that outlive the page, if the browser keeps any. */
export const memory = {
  get(key, otherwise = null) {
    try {
      return JSON.parse(localStorage.getItem(`branan.${key}`)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`branan.${key}`, JSON.stringify(value));
    } catch {
      // Private windows may refuse; the page works without.
    }
  },
};
