// What the page says beside the board: passing notes, words for screen readers, questions.

import { button, el } from "./dom.js";
import { t } from "./language.js";
import { Refused } from "./server.js";

/** Shows a note for some seconds. */
export function note(text, { detail = "", kind = "" } = {}) {
  const box = el(
    "div",
    { class: ["note", kind] },
    el("span", {}, text),
    detail && el("small", { dir: "auto" }, detail),
  );
  const host = document.getElementById("notes");
  host.append(box);
  while (host.children.length > 3) host.firstChild.remove();
  setTimeout(() => box.remove(), kind === "bad" ? 8000 : 4000);
}

/** Shows why something did not work. */
export function complain(error) {
  if (error instanceof Refused) note(error.message, { detail: error.detail, kind: "bad" });
  else {
    console.error(error);
    note(t("app.failed"), { detail: String(error?.message ?? error), kind: "bad" });
  }
}

/** Runs something asynchronous for a person; failures become notes. */
export const attempt =
  (work) =>
  (...given) =>
    Promise.resolve(work(...given)).catch(complain);

/** Says something to screen readers. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Opens a dialog with a title and content; returns the element, which removes itself when closed. */
export function dialog(title, ...content) {
  const box = el(
    "dialog",
    { "aria-label": title },
    el(
      "header",
      {},
      el("h2", {}, title),
      button(t("app.close"), () => box.close(), { icon: "close", class: "plain" }),
    ),
    ...content,
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

/** Asks a question; resolves to whether the person agreed. */
export function ask(question, yes) {
  return new Promise((resolve) => {
    let agreed = false;
    const box = el(
      "dialog",
      { class: "question", "aria-label": question },
      el("p", {}, question),
      el(
        "div",
        { class: "row end" },
        button(t("app.cancel"), () => box.close()),
        button(yes, () => ((agreed = true), box.close()), { class: "primary", autofocus: true }),
      ),
    );
    box.addEventListener("close", () => (box.remove(), resolve(agreed)));
    document.body.append(box);
    box.showModal();
  });
}
