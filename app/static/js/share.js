// The panel of records: the position, a link to it, the record of the game, pictures of the board.

import { button, copyText, download, el } from "./dom.js";
import { t } from "./language.js";
import { attempt, note } from "./notes.js";
import { getText } from "./server.js";

const copied = async (text) => note((await copyText(text)) ? t("app.copied") : t("app.failed"));

export class SharePanel {
  constructor(view) {
    this.view = view;
    this.position = el("input", {
      type: "text",
      readonly: true,
      dir: "ltr",
      "aria-label": t("record.position"),
      onfocus: ({ target }) => target.select(),
    });
    this.link = el("input", {
      type: "text",
      readonly: true,
      dir: "ltr",
      "aria-label": t("record.link"),
      onfocus: ({ target }) => target.select(),
    });
    const name = (ending) => `${view.game.game}-${view.ply}.${ending}`;
    const record = () => getText(`/api/games/${view.game.id}/record`);
    this.node = el(
      "div",
      { class: "share" },
      el("h2", {}, t("record.game")),
      el(
        "div",
        { class: "row" },
        button(
          t("record.save"),
          attempt(async () => download(`${view.game.game}.txt`, await record(), "text/plain")),
        ),
        button(
          t("record.copy"),
          attempt(async () => copied(await record())),
        ),
        el("a", { class: "button", href: "#load" }, t("action.load")),
      ),
      el("h2", {}, t("record.position")),
      el(
        "div",
        { class: "row field-row" },
        this.position,
        button(
          t("record.copy_position"),
          attempt(() => copied(this.position.value)),
        ),
      ),
      el(
        "div",
        { class: "row" },
        el("a", { class: "button", href: "#edit", onclick: (event) => this._edit(event) }, t("start.edit")),
      ),
      el("h2", {}, t("record.link")),
      el(
        "div",
        { class: "row field-row" },
        this.link,
        button(
          t("record.copy_link"),
          attempt(() => copied(this.link.value)),
        ),
      ),
      el("h2", {}, t("record.picture")),
      el(
        "div",
        { class: "row" },
        button(t("record.svg"), () => download(name("svg"), view.board.picture(), "image/svg+xml")),
        button(
          t("record.png"),
          attempt(async () => download(name("png"), await view.board.png(), "image/png")),
        ),
        button(
          t("record.copy_png"),
          attempt(() => this._copyPicture()),
        ),
      ),
    );
  }

  /** The position looked at, and the side to move in it. */
  get shown() {
    const { game, ply } = this.view;
    const sides = [game.start.to_play, game.start.to_play === "attackers" ? "defenders" : "attackers"];
    return { position: ply ? game.moves[ply - 1].position : game.start.position, side: sides[ply % 2] };
  }

  show() {
    const { position, side } = this.shown;
    this.position.value = position;
    const values = new URLSearchParams({ position, rules: this.view.game.game, to_play: side });
    this.link.value = `${location.origin}/#${values}`;
  }

  _edit(event) {
    event.preventDefault();
    const { position, side } = this.shown;
    location.hash = new URLSearchParams({ edit: this.view.game.game, position, to_play: side }).toString();
  }

  async _copyPicture() {
    // The picture is promised rather than awaited: some browsers forget the person's click while it is being drawn.
    await navigator.clipboard.write([new ClipboardItem({ "image/png": this.view.board.png() })]);
    note(t("app.copied"));
  }
}
