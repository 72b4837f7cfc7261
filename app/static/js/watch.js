// Two engines against each other, and games that runs have played with themselves.

import { button, el, memory } from "./dom.js";
import { list, t } from "./language.js";
import { attempt } from "./notes.js";
import { playerPicker } from "./players.js";
import { get } from "./server.js";
import { SIDES } from "./squares.js";
import { begin, layoutName } from "./start.js";
import { resultWords } from "./words.js";

export function watchView(host, _, about) {
  const starts = about.games.flatMap((game) =>
    game.layouts.map((layout) => ({ game, layout, key: `${game.game}/${layout.layout}` })),
  );
  const select = el(
    "select",
    { id: "watch-game", onchange: () => seats() },
    starts.map(({ game, layout, key }) => el("option", { value: key }, layoutName(game, layout))),
  );
  const box = el("div", { class: "columns even" });
  let pickers = {};
  const chosen = () => starts.find(({ key }) => key === select.value);

  function seats() {
    const { game } = chosen();
    pickers = Object.fromEntries(
      SIDES.map((side) => {
        const picker = playerPicker(game, about.limits, {
          kinds: ["checkpoint", "level", "alphabeta", "alphabeta:v2", "random"],
          chosen: memory.get(`watch.${game.game}.${side}`, { kind: "level", level: "normal" }),
          label: t(`side.${side}`),
        });
        return [side, picker];
      }),
    );
    box.replaceChildren(
      ...SIDES.map((side) => el("section", { class: "box" }, el("h2", {}, t(`side.${side}`)), pickers[side].node)),
    );
  }

  const start = attempt(async () => {
    const { game, layout } = chosen();
    const players = Object.fromEntries(SIDES.map((side) => [side, pickers[side].value()]));
    for (const side of SIDES) memory.set(`watch.${game.game}.${side}`, players[side]);
    await begin({ game: game.game, layout: layout.layout, ...players, delay: memory.get("delay", 0.5), running: true });
  });

  host.append(
    el("h1", {}, t("watch.title")),
    el("div", { class: "row" }, el("label", { for: "watch-game" }, t("start.game")), select),
    box,
    el("div", { class: "row" }, button(t("watch.begin"), start, { class: "primary large" })),
  );
  seats();
}

const PAGE = 50;

export async function selfplayView(host, { run: wanted, iteration: at }) {
  const runs = (await get("/api/runs")).runs.filter(({ selfplay }) => selfplay.length);
  host.append(el("h1", {}, t("selfplay.title")));
  if (!runs.length) {
    const command = "python train.py";
    host.append(el("p", {}, t("selfplay.none", { command })));
    return;
  }
  const run = runs.find((one) => one.run === wanted) ?? runs[0];
  const iteration = run.selfplay.find((number) => String(number) === at) ?? run.selfplay.at(-1);
  const to = (values) => (location.hash = `selfplay&${new URLSearchParams({ run: run.run, iteration, ...values })}`);
  const rows = el("tbody", {});
  const more = button(
    t("selfplay.more"),
    attempt(() => load()),
  );
  let offset = 0;

  const open = (number) => attempt(() => begin({ selfplay: { run: run.run, iteration, number } }, 0));

  async function load() {
    const page = await get(
      `/api/runs/${encodeURIComponent(run.run)}/iterations/${iteration}?offset=${offset}&limit=${PAGE}`,
    );
    offset += page.games.length;
    more.hidden = offset >= page.total;
    rows.append(
      ...page.games.map((game) =>
        el(
          "tr",
          {},
          el("td", {}, button(`${game.number + 1}`, open(game.number), { class: "link" })),
          el("td", {}, game.plies),
          el(
            "td",
            {},
            game.truncated ? t("selfplay.truncated") : resultWords(game.winner),
            game.missing?.length ? el("small", {}, ` ${t("selfplay.missing", { squares: list(game.missing) })}`) : "",
          ),
        ),
      ),
    );
  }

  host.append(
    el(
      "div",
      { class: "fields" },
      el(
        "label",
        { class: "field" },
        el("span", {}, t("selfplay.run")),
        el(
          "select",
          { onchange: ({ target }) => to({ run: target.value, iteration: "" }) },
          runs.map((one) => el("option", { value: one.run, selected: one === run }, `${one.run} (${one.game})`)),
        ),
      ),
      el(
        "label",
        { class: "field" },
        el("span", {}, t("selfplay.iteration")),
        el(
          "select",
          { onchange: ({ target }) => to({ iteration: target.value }) },
          run.selfplay.map((number) => el("option", { value: number, selected: number === iteration }, String(number))),
        ),
      ),
    ),
    el(
      "table",
      { class: "games" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["number", "plies", "result"].map((name) => el("th", { scope: "col" }, t(`selfplay.${name}`))),
        ),
      ),
      rows,
    ),
    more,
  );
  await load();
}
