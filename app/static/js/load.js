// Opening a game from a record, or a position from its text.

import { button, el } from "./dom.js";
import { t } from "./language.js";
import { complain } from "./notes.js";
import { positionProblem } from "./edit.js";
import { Refused } from "./server.js";
import { SIDES } from "./squares.js";
import { begin } from "./start.js";

export function loadView(host, _, about) {
  const area = el("textarea", { rows: 12, dir: "ltr", spellcheck: "false", "aria-label": t("load.text") });
  const problem = el("p", { class: "verdict bad", role: "alert", hidden: true });
  const game = el(
    "select",
    { id: "load-game" },
    about.games.map(({ game: name, title }) => el("option", { value: name }, title)),
  );
  const side = el(
    "select",
    { "aria-label": t("edit.to_play") },
    SIDES.map((one) => el("option", { value: one }, t(`side.${one}`))),
  );

  const fail = (...words) => {
    problem.replaceChildren(...words);
    problem.hidden = false;
  };

  async function open() {
    problem.hidden = true;
    const text = area.value.trim();
    if (!text) {
      area.focus();
      return;
    }
    try {
      await begin(
        text.startsWith("/") ? { game: game.value, position: text, to_play: side.value } : { record: area.value },
      );
    } catch (error) {
      if (!(error instanceof Refused)) complain(error);
      else if (error.code === "bad_record" && error.details.line) {
        fail(
          t("error.bad_record"),
          " ",
          t("load.where", { line: error.details.line, column: error.details.column, problem: error.details.problem }),
        );
      } else if (error.code === "bad_position")
        fail(
          positionProblem(
            error,
            about.games.find((one) => one.game === game.value),
            text,
          ),
          " ",
          el("small", { dir: "auto" }, error.detail),
        );
      else fail(error.message, " ", el("small", { dir: "auto" }, error.detail));
    }
  }

  async function choose({ target }) {
    const [file] = target.files;
    if (!file) return;
    if (file.size > about.limits.record_bytes) {
      fail(t("error.too_large"));
      return;
    }
    area.value = await file.text();
    await open();
  }

  host.append(
    el("h1", {}, t("load.title")),
    el("label", { class: "field wide" }, el("span", {}, t("load.text")), area),
    el("div", { class: "row" }, el("label", { for: "load-game" }, t("load.for")), game, side),
    problem,
    el(
      "div",
      { class: "row" },
      button(t("load.open"), open, { class: "primary" }),
      el(
        "label",
        { class: "button" },
        t("load.file"),
        el("input", { type: "file", class: "off-screen", accept: ".txt,.otg,.tafl,text/plain", onchange: choose }),
      ),
    ),
  );
}
