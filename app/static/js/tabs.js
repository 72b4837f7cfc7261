// Panels of which one is shown at a time.

import { el, memory } from "./dom.js";

/** Panels with their heads: `[[name, title, node]]`; `changed(name)` is called for the one that is shown. */
export function tabs(panels, changed) {
  const chosen = memory.get("tab", "moves");
  const heads = [];
  const select = (name, focus = false) => {
    panels.forEach(([one, , node], index) => {
      const shown = one === name;
      node.hidden = !shown;
      heads[index].setAttribute("aria-selected", String(shown));
      heads[index].tabIndex = shown ? 0 : -1;
      if (shown && focus) heads[index].focus();
    });
    memory.set("tab", name);
    changed(name);
  };
  panels.forEach(([name, title, node], index) => {
    const move = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const turn = document.documentElement.dir === "rtl" ? -step : step;
      select(panels[(index + turn + panels.length) % panels.length][0], true);
      event.preventDefault();
    };
    heads.push(
      el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `panel-${name}`,
          onclick: () => select(name),
          onkeydown: move,
        },
        title,
      ),
    );
    node.id = `panel-${name}`;
    node.setAttribute("role", "tabpanel");
    node.setAttribute("aria-labelledby", `tab-${name}`);
  });
  const box = el(
    "div",
    { class: "tabs" },
    el("div", { role: "tablist" }, heads),
    panels.map(([, , node]) => node),
  );
  select(panels.some(([name]) => name === chosen) ? chosen : "moves");
  return box;
}
