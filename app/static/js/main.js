// The page: its head, and which view is shown. Views are chosen by the fragment of the address, so that reload, back
// and links work: #game=ID, #rules=GAME, #watch, #selfplay, #edit, #load, #position=...; nothing for the start.

import { button, el, iconOf, memory } from "./dom.js";
import { choose, current, languages, t } from "./language.js";
import { attempt, complain, note } from "./notes.js";
import { about } from "./server.js";
import { startView } from "./start.js";
import { gameView, openPosition } from "./game.js";
import { rulesView } from "./rules.js";
import { editView } from "./edit.js";
import { loadView } from "./load.js";
import { selfplayView, watchView } from "./watch.js";

const VIEWS = {
  "": startView,
  game: gameView,
  position: openPosition,
  rules: rulesView,
  edit: editView,
  load: loadView,
  watch: watchView,
  selfplay: selfplayView,
};
const THEMES = ["auto", "light", "dark"];

let leave = null;
let turn = 0;

/** Goes to a view: name and values of the fragment. */
export function go(name, values = {}) {
  const fragment = new URLSearchParams(values).toString();
  location.hash = name
    ? `${name}${fragment ? (name in values ? `=${encodeURIComponent(values[name])}` : `&${fragment}`) : ""}`
    : "";
}

function readFragment() {
  const values = new URLSearchParams(location.hash.slice(1));
  const name = [...values.keys()][0] ?? "";
  return [Object.hasOwn(VIEWS, name) ? name : "", Object.fromEntries(values)];
}

async function show() {
  const mine = ++turn;
  leave?.();
  leave = null;
  const main = document.getElementById("main");
  document.querySelectorAll("dialog").forEach((box) => box.close());
  const [name, values] = readFragment();
  head(name);
  try {
    const host = el("div", { class: `view ${name || "start"}` });
    const left = await VIEWS[name](host, values, await about());
    if (mine !== turn) {
      left?.(); // the person has gone elsewhere meanwhile
      return;
    }
    leave = left ?? null;
    main.replaceChildren(host);
    host.dispatchEvent(new CustomEvent("shown"));
    if (mine > 1 && document.activeElement === document.body) main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  } catch (error) {
    if (mine !== turn) return;
    complain(error);
    main.replaceChildren(
      el(
        "div",
        { class: "view failed" },
        el("p", {}, error.message),
        button(t("action.new"), () => (name ? go("") : show()), { class: "primary" }),
      ),
    );
  }
}

function head(view) {
  const pages = [
    ["", "action.new", "plus"],
    ["rules", "action.rules", "book"],
  ];
  const select = el(
    "select",
    {
      "aria-label": t("app.language"),
      onchange: attempt(async ({ target }) => (await choose(target.value), await show())),
    },
    languages.map(({ code, name }) => el("option", { value: code, selected: code === current, lang: code }, name)),
  );
  const theme = memory.get("theme", "auto");
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  document.getElementById("top").replaceChildren(
    el("a", { class: "skip", href: "#main", onclick: skip }, t("app.skip")),
    el(
      "a",
      { class: "brand", href: "#" },
      el("img", { src: "/static/icon.svg", alt: "", width: 30, height: 30 }),
      el("b", {}, t("app.title")),
      el("span", {}, t("app.subtitle")),
    ),
    el(
      "nav",
      {},
      pages.map(([name, key, icon]) =>
        el(
          "a",
          { href: name ? `#${name}` : "#", class: "tab", "aria-current": view === name ? "page" : null },
          iconOf(icon),
          el("span", {}, t(key)),
        ),
      ),
    ),
    select,
    button(`${t("app.theme")}: ${t(`app.theme.${theme}`)}`, () => (memory.set("theme", next), paint(), head(view)), {
      icon: { auto: "auto", light: "sun", dark: "moon" }[theme],
      class: "plain",
    }),
  );
}

function skip(event) {
  event.preventDefault();
  (document.querySelector('.grid [tabindex="0"]') ?? document.getElementById("main")).focus();
}

function paint() {
  const theme = memory.get("theme", "auto");
  document.documentElement.dataset.theme = theme;
}

addEventListener("hashchange", () => show());
addEventListener("unhandledrejection", (event) =>
  note(t("app.failed"), { detail: String(event.reason?.message ?? ""), kind: "bad" }),
);

paint();
choose().then(show, () => {
  document.getElementById("main").textContent =
    "The server does not answer. Is it still running? Reload this page to try again.";
});
