// The review: one copy after the other beside the page kept, and what somebody says of it or of a place.
// Marks are about two URLs, whichever of them was kept; the next file has them under *columns*.
const { columns } = data.marks;
const marks = new Map(); // from the URLs of a pair to its row in the file, by column
const changes = new Map(); // what of it this browser has changed: null is for a mark that was taken back
const STORE = `dedup-marks:${data.marks.index}`;
// The columns that a crawl reads are page, other and says; site and label are those of a judged set.
const LABELS = { different: "C", copy: "A" };
const keyOfUrls = (...urls) => urls.sort().join(" ");
const keyOf = (pair) => keyOfUrls(pages.url[pair.second], pages.url[pair.first]);
const keyOfPlace = (host, name) => `place ${host} ${name}`;
const sayingOf = (key) => marks.get(key)?.says;

const pairs = clusters.flatMap(([first, ...copies]) => copies
  .filter((page) => pages.near[page] === 1 && pages.nowhere[page] !== 0).map((second) => ({ first, second })));
pairs.sort((a, b) => (pages.nowhere[b.second] ?? -1) - (pages.nowhere[a.second] ?? -1)
  || (pages.similarity[a.second] ?? 1) - (pages.similarity[b.second] ?? 1));
const placeOfPair = new Map(pairs.map((pair, place) => [pair.second, place]));
const isReviewable = (page) => placeOfPair.has(page);
// What was escaped or cut is not the URL of the page, and what has no scheme may be anything.
const isMarkable = (pair) => [pair.first, pair.second].every((page) => /^[a-z][a-z0-9+.-]*:[^\s\\…]+$/i.test(pages.url[page]));
const copiesOf = new Map(data.places.map((place) => [place, new Set(place.copies)]));
let current = 0;

// What somebody says of a whole place, "" for nothing or for not all of it the same.
function sayingOfPlace(place) {
  const said = new Set(place.names.map((name) => sayingOf(keyOfPlace(place.host, name)) ?? ""));
  return said.size === 1 ? [...said][0] : "";
}

// A pair is reviewed when somebody has said something of it, or of a place in which it differs.
function isReviewed(pair) {
  return marks.has(keyOf(pair)) || data.places.some((place) => copiesOf.get(place).has(pair.second) && sayingOfPlace(place));
}

function review(page) {
  current = placeOfPair.get(page);
  drawReview();
  location.hash = "review";
}

function drawReview() {
  const pair = pairs[current], reviewed = pairs.filter(isReviewed).length;
  byId("review-status").textContent = pairs.length === 0 ? "Nothing is lost with any copy: there is nothing to review."
    : `${count(reviewed)} of ${count(pairs.length)} reviewed${reviewed === pairs.length ? ": done. The next crawl obeys." : pair ? `, this is pair ${count(current + 1)}` : ""}`;
  byId("review-pair").replaceChildren(...(pair ? pairParts(pair) : []));
  for (const [id, says] of [["mark-different", "different"], ["mark-copy", "copy"]]) {
    byId(id).setAttribute("aria-pressed", String(pair !== undefined && sayingOf(keyOf(pair)) === says));
    byId(id).hidden = !pair || !isMarkable(pair);
  }
  byId("review-back").hidden = current === 0;
  byId("review-on").hidden = current >= pairs.length - 1;
  byId("review-keys").hidden = pairs.length === 0;
  byId("save-marks").hidden = Boolean(data.marks.token) || marks.size + changes.size === 0;
  byId("save-marks").textContent = marks.size ? `Save ${counting(marks.size, "mark")}` : "Save marks";
  const places = counting(data.places.length, "place");
  byId("places").replaceChildren(...(data.places.length ? [el("h3", {}, `Copies differ from the pages kept in ${places}`)] : []),
    ...data.places.map(placeCard));
  drawOtherMarks();
}

function pairParts(pair) {
  const texts = data.texts[`${pair.first}:${pair.second}`];
  const isEqual = pages.lost[pair.second] === 0 && pages.similarity[pair.second] === 1;
  return [
    el("p", { class: "verdict" }, el("strong", {}, losesOf(pair.second)), quiet(` similarity ${similarity(pair.second)}`)),
    texts ? textsView(pair, texts) : el("div", { class: "diff card" }, sidesOf(pair), el("p", { class: "quiet" },
      isEqual ? "The texts are equal word for word, or are not stored."
        : "The texts of these two are not in this file. An index keeps those of its first 500 pages; with DEDUP_STORE_PAGES = True those of all.")),
    el("details", {}, el("summary", {}, "Why"), el("p", {}, why(pair.second))),
    isMarkable(pair) ? "" : el("p", { class: "quiet" }, "An address of this pair is cut or escaped here, so it cannot be marked."),
  ];
}

// Two texts side by side, paragraph beside paragraph.
function textsView(pair, { rows, is_cut }) {
  const isElsewhere = pages.nowhere[pair.second] < pages.lost[pair.second];
  const legend = el("p", { class: "legend" }, el("del", {}, isElsewhere ? "not on the page kept" : "lost with this copy"), " ",
    el("span", { class: "own" }, "only on the page kept"));
  const shown = rows.map((row) => (typeof row === "number" ? el("p", { class: "same" }, `${count(row)} equal words are left out`)
    : el("div", { class: row.flat().some(([, changed]) => changed) ? "side" : "side equal" },
      el("p", { dir: "auto" }, ...spansOf(row[0], "span")), el("p", { dir: "auto" }, ...spansOf(row[1], "del")))));
  return el("div", { class: "diff card", role: "region", "aria-label": "Texts side by side" }, sidesOf(pair), legend, ...shown,
    is_cut ? el("p", { class: "same" }, "The texts go on; only their beginnings are compared.") : "");
}

function sidesOf(pair) {
  const side = (page, fate) => el("div", {}, quiet(fate), pageCell(page));
  return el("div", { class: "side head" }, side(pair.first, "Page kept"), side(pair.second, "Copy"));
}

const spansOf = (spans, tag) => spans.flatMap(([text, changed]) => [text.startsWith(" ") ? " " : "",
  changed ? el(tag, { class: tag === "span" ? "own" : null }, text.trim()) : text.trim()]);

// Where copies differ: a place with examples, and what somebody says of all of it.
function placeCard(place) {
  const says = sayingOfPlace(place);
  const decide = (name, what) => button(name, () => markPlace(place, says === what ? null : what), { "aria-pressed": String(says === what) });
  const side = (url, spans, tag, name) => el("div", {}, quiet(name, " ", el("bdi", {}, url)),
    el("p", { dir: "auto" }, ...spansOf(spans, tag)));
  return el("div", { class: `card place ${says ? "decided" : ""}` },
    el("h4", {}, el("bdi", {}, place.shown), " ", quiet(place.where)),
    place.means ? el("p", {}, place.means) : "",
    place.names.length ? el("div", { class: "toolbar", role: "group", "aria-label": `What ${place.shown} means` },
      decide("These tell pages apart", "different"), decide("This does not matter", "copy")) : "",
    ...place.examples.map(({ kept, copy, rows }) => el("div", { class: "side" },
      side(kept, rows[0], "span", "kept"), side(copy, rows[1], "del", "copy"))));
}

// Marks on what is not in this report: they stay, and can be taken back.
function drawOtherMarks() {
  const known = new Set([...pairs.map(keyOf),
    ...data.places.flatMap((place) => place.names.map((name) => keyOfPlace(place.host, name)))]);
  const others = [...marks].filter(([key]) => !known.has(key));
  byId("other-marks").hidden = !others.length;
  byId("other-marks").querySelector("summary").textContent = `${counting(others.length, "mark")} outside this report`;
  byId("other-marks-list").replaceChildren(...others.map(([key, { page, other, place, says }]) => el("li", {},
    el("bdi", { class: "url" }, place || page), " ", el("bdi", { class: "url" }, other ?? ""), ` ${says} `, button("Take back", () => change(key, null)))));
}

// Marking

function turn(by) {
  if (!pairs[current + by]) return;
  byId("saved").textContent = "";
  current += by;
  drawReview();
}

function mark(says) {
  const pair = pairs[current];
  if (!pair || !isMarkable(pair)) return;
  const key = keyOf(pair), isTakenBack = sayingOf(key) === says;
  change(key, isTakenBack ? null : { ...marks.get(key), site: data.sites[pages.site[pair.second]], label: LABELS[says],
    page: pages.url[pair.second], other: pages.url[pair.first], says, place: "" });
  if (!isTakenBack) turn(1);
}

async function markPlace(place, says) {
  for (const name of place.names) {
    await change(keyOfPlace(place.host, name), says && { site: place.host, label: LABELS[says], page: "", other: "", says, place: name });
  }
}

// A report that is served has its marks written by the server; another one keeps them where the browser lets it.
async function change(key, cells) {
  const before = marks.get(key);
  const put = (row) => { if (row) marks.set(key, row); else marks.delete(key); };
  put(cells);
  drawReview();
  if (!data.marks.token) {
    changes.set(key, cells);
    try { localStorage.setItem(STORE, JSON.stringify([...changes])); } catch { /* no storage for files */ }
  } else {
    const problem = await sent(cells ?? { ...before, says: "" });
    byId("saved").textContent = problem ? `Not saved: ${problem}` : `Saved in ${data.marks.name}.`;
    if (problem) put(before);
  }
  drawReview();
}

// Returns what went wrong, "" for nothing.
async function sent(cells) {
  try {
    const answer = await fetch("marks", { method: "POST", body: JSON.stringify(cells),
      headers: { "Content-Type": "application/json", "X-Dedup-Token": data.marks.token } });
    return answer.ok ? "" : await answer.text();
  } catch {
    return "the server does not answer; start dedup report --serve again.";
  }
}

// The marks that the report was made with, and changes that outlive a reload.
function recall() {
  for (const row of data.marks.rows) {
    const cells = Object.fromEntries(columns.map((name, place) => [name, row[place]]));
    marks.set(cells.place ? keyOfPlace(cells.site, cells.place) : keyOfUrls(cells.page, cells.other), cells);
  }
  for (const [key, cells] of remembered()) {
    if (sayingOf(key) === cells?.says) continue; // it is in the file by now
    changes.set(key, cells);
    if (cells) marks.set(key, cells);
    else marks.delete(key);
  }
  const open = pairs.findIndex((pair) => !isReviewed(pair));
  current = open < 0 ? pairs.length : open;
}

function remembered() {
  try {
    const found = data.marks.token ? [] : JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return found.filter(([, cells]) => cells === null || cells.says in LABELS);
  } catch {
    return []; // nothing is kept, or it is not ours
  }
}

// The whole file: the marks that the report was made with are there as they were, unless they were changed.
function saveMarks() {
  const csvCell = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const rows = [columns, ...[...marks.values()].map((cells) => columns.map((name) => cells[name]))];
  const text = rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  el("a", { href: url, download: "marks.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const KEYS = { ArrowRight: () => turn(1), j: () => turn(1), ArrowLeft: () => turn(-1), k: () => turn(-1),
  d: () => mark("different"), c: () => mark("copy") };
addEventListener("keydown", (event) => {
  if (byId("review").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
for (const [id, act] of [["review-on", () => turn(1)], ["review-back", () => turn(-1)], ["mark-different", () => mark("different")],
  ["mark-copy", () => mark("copy")], ["save-marks", saveMarks]]) byId(id).addEventListener("click", act);
