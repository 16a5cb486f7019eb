// The review: one pair after the other, with what its second page loses, and what somebody says of it.
// Marks are about two URLs, whichever of them was kept; the next file has them under *columns*.
const { columns } = data.marks;
const marks = new Map(); // from the URLs of a pair to its row in the file, by column
const changes = new Map(); // what of it this browser has changed: null is for a mark that was taken back
const STORE = `dedup-marks:${data.marks.index}`;
// What was escaped or cut is not the URL of the page, and what has no scheme may be anything.
const isMarkable = (pair) => [pair.first, pair.second].every((page) => /^[a-z][a-z0-9+.-]*:[^\s\\…]+$/i.test(pages.url[page]));
const keyOfUrls = (...urls) => urls.sort().join(" ");
const keyOf = (pair) => keyOfUrls(pages.url[pair.second], pages.url[pair.first]);
const sayingOf = (key) => marks.get(key)?.says;

const droppedPairs = clusters.flatMap(([first, ...copies]) => copies.filter((page) => isNear(page) && pages.nowhere[page] !== 0).map((second) => ({
  first, second, ...measuredOf(second),
  why: why(second),
})));
droppedPairs.sort((a, b) => (b.nowhere ?? -1) - (a.nowhere ?? -1) || (a.similarity ?? 1) - (b.similarity ?? 1));

const view = { pairs: droppedPairs, place: 0 };
const copiesOf = new Map(data.places.map((place) => [place, new Set(place.copies)]));
const keyOfPlace = (host, name) => `place ${host} ${name}`;
// What somebody says of a whole place, "" for nothing or for not all of it the same.
const sayingOfPlace = (place) => {
  const said = new Set(place.names.map((name) => sayingOf(keyOfPlace(place.host, name)) ?? ""));
  return said.size === 1 ? [...said][0] : "";
};

function review() {
  recall();
  const open = view.pairs.findIndex((pair) => !isReviewed(pair));
  view.place = open < 0 ? view.pairs.length : open;
  drawPair();
}

// A pair is reviewed when somebody has said something of it, or of a place in which it differs.
function isReviewed(pair) {
  return marks.has(keyOf(pair)) || data.places.some((place) => copiesOf.get(place).has(pair.second) && sayingOfPlace(place));
}

function drawPair() {
  const pair = view.pairs[view.place], total = view.pairs.length;
  const reviewed = view.pairs.filter(isReviewed).length;
  byId("review-status").textContent = total === 0 ? "Nothing is lost with any copy: there is nothing to review."
    : `${count(reviewed)} of ${count(total)} reviewed${reviewed === total ? ": done. The next crawl obeys." : pair ? `, this is pair ${count(view.place + 1)}` : ""}`;
  byId("review-pair").replaceChildren(...(pair ? pairParts(pair) : []));
  const mark = pair && sayingOf(keyOf(pair));
  for (const [id, says] of [["mark-different", "different"], ["mark-copy", "copy"]]) {
    byId(id).setAttribute("aria-pressed", String(mark === says));
    byId(id).hidden = !pair || !isMarkable(pair);
  }
  byId("review-back").hidden = view.place === 0;
  byId("review-on").hidden = view.place >= total - 1;
  byId("review-keys").hidden = total === 0;
  byId("save-marks").hidden = Boolean(data.marks.token) || marks.size + changes.size === 0;
  byId("save-marks").textContent = marks.size ? `Save ${counting(marks.size, "mark")}` : "Save marks";
  otherMarks();
  drawPlaces();
}

// Where copies differ: each place with examples, and what somebody says of all of it.
function drawPlaces() {
  const found = data.places.length;
  byId("places").replaceChildren(...(found ? [el("h3", {}, `Copies differ from the pages kept in ${counting(found, "place")}`)] : []),
    ...data.places.map(placeCard));
}

function placeCard(place) {
  const says = sayingOfPlace(place);
  const button = (name, what) => el("button", { type: "button", "aria-pressed": String(says === what),
    onclick: () => markPlace(place, says === what ? null : what) }, name);
  const side = (url, spans, tag, name) => el("div", {}, quiet(name, " ", el("bdi", {}, url)),
    el("p", { dir: "auto" }, ...spansOf(spans, tag)));
  return el("div", { class: `card place ${says ? "decided" : ""}` },
    el("h4", {}, el("bdi", {}, place.shown), " ", quiet(place.where)),
    place.means ? el("p", {}, place.means) : "",
    place.names.length ? el("div", { class: "toolbar", role: "group", "aria-label": `What ${place.shown} means` },
      button("These tell pages apart", "different"), button("This does not matter", "copy")) : "",
    ...place.examples.map(({ kept, copy, rows }) => el("div", { class: "side" },
      side(kept, rows[0], "span", "kept"), side(copy, rows[1], "del", "copy"))));
}

async function markPlace(place, says) {
  for (const name of place.names) {
    await change(keyOfPlace(place.host, name), says && { site: place.host, label: LABELS[says], page: "", other: "", says, place: name });
  }
}

function pairParts(pair) {
  const figures = el("p", { class: "verdict" }, el("strong", {}, losesOf(pair)),
    quiet(` similarity ${similarity(pair.similarity)}`));
  const texts = textsOf(pair.first, pair.second);
  const body = texts ? textsView(pair.first, pair.second)
    : el("div", { class: "diff card" }, sidesOf(pair.first, pair.second), el("p", { class: "quiet" },
      pair.lost === 0 && pair.similarity === 1 ? "The texts are equal word for word, or are not stored."
        : "The texts of these two are not in this file. An index keeps those of its first 500 pages; with DEDUP_STORE_PAGES = True those of all."));
  const notes = isMarkable(pair) ? [] : [el("p", { class: "quiet" }, "An address of this pair is cut or escaped here, so it cannot be marked.")];
  return [figures, body, el("details", {}, el("summary", {}, "Why"), el("p", {}, pair.why)), ...notes];
}

function turn(by) {
  const place = view.place + by;
  if (place < 0 || place >= view.pairs.length) return;
  byId("saved").textContent = "";
  view.place = place;
  drawPair();
}

function mark(says) {
  const pair = view.pairs[view.place];
  if (!pair || !isMarkable(pair)) return;
  const before = sayingOf(keyOf(pair));
  change(keyOf(pair), before === says ? null : { ...marks.get(keyOf(pair)), ...cellsOf(pair, says) });
  if (before !== says) turn(1);
}

// The columns that a crawl reads are page, other and says; site and label are those of a judged set.
const LABELS = { different: "C", copy: "A" };
const cellsOf = (pair, says) => ({ site: siteOf(pair.second), label: LABELS[says],
  page: pages.url[pair.second], other: pages.url[pair.first], says, place: "" });

async function change(key, cells) {
  const before = marks.get(key);
  const put = (row) => { if (row) marks.set(key, row); else marks.delete(key); };
  put(cells);
  drawPair();
  if (!data.marks.token) {
    changes.set(key, cells);
    keep();
  } else {
    const problem = await sent(cells ?? { ...before, says: "" });
    byId("saved").textContent = problem ? `Not saved: ${problem}` : `Saved in ${data.marks.name}.`;
    if (problem) put(before);
  }
  drawPair();
}

// A report that is served has its marks written by the server; returns what went wrong, "" for nothing.
async function sent(cells) {
  try {
    const answer = await fetch("marks", { method: "POST", body: JSON.stringify(cells),
      headers: { "Content-Type": "application/json", "X-Dedup-Token": data.marks.token } });
    return answer.ok ? "" : await answer.text();
  } catch {
    return "the server does not answer; start dedup report --serve again.";
  }
}

// The marks that the report was made with, and changes that outlive a reload where the browser lets them.
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
}
function remembered() {
  try {
    const found = data.marks.token ? [] : JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return found.filter(([, cells]) => cells === null || cells.says in LABELS);
  } catch {
    return []; // nothing is kept, or it is not ours
  }
}
function keep() {
  try { localStorage.setItem(STORE, JSON.stringify([...changes])); } catch { /* no storage for files */ }
}

// Marks on pairs that are not in this report: they stay, and can be taken back.
function otherMarks() {
  const known = new Set([...droppedPairs.map(keyOf),
    ...data.places.flatMap((place) => place.names.map((name) => keyOfPlace(place.host, name)))]);
  const others = [...marks.keys()].filter((key) => !known.has(key));
  byId("other-marks").hidden = !others.length;
  byId("other-marks").querySelector("summary").textContent =
    `${counting(others.length, "mark")} outside this report`;
  const url = (text) => el("bdi", { class: "page" }, text);
  table(byId("other-marks-table"), {
    caption: "Marks on other pairs", noun: "mark", rows: others,
    text: (key) => key,
    columns: [
      { name: "Page or place", head: true, cell: (key) => url(marks.get(key).place || marks.get(key).page) },
      { name: "Other page", cell: (key) => url(marks.get(key).other) },
      { name: "Mark", cell: (key) => sayingOf(key) },
      { name: "Undo", cell: (key) => el("button", { type: "button", onclick: () => change(key, null) }, "Take back") },
    ],
  });
}

const csvCell = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
const csvOf = (names, rows) => [names, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// The whole file: the marks that the report was made with are there as they were, unless they were changed.
function saveMarks() {
  save("marks.csv", csvOf(columns, [...marks.values()].map((cells) => columns.map((name) => cells[name]))));
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
