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

const droppedPairs = clusters.members.flatMap(([first, ...copies]) => copies.filter(isNear).map((second) => ({
  first, second, ...measuredOf(second),
  why: why(second),
})));
droppedPairs.sort((a, b) => (b.nowhere ?? -1) - (a.nowhere ?? -1) || (a.similarity ?? 1) - (b.similarity ?? 1));

const view = { pairs: droppedPairs, place: 0 };
// By the figures of a pair alone: whether it would be kept if so many words might be lost at most.
const isOut = (pair, words, share) => (pair.nowhere ?? 0) > words || (pair.similarity ?? 1) < share;

function review() {
  recall();
  const most = Math.max(1, ...droppedPairs.map((pair) => pair.nowhere ?? 0));
  const least = Math.min(1, ...droppedPairs.map((pair) => pair.similarity ?? 1));
  const words = slider("review-words", "Words lost, at most", 0, most, 1, most);
  const share = slider("review-share", "Similarity, at least", Math.floor(least * 100) / 100, 1, 0.01, Math.floor(least * 100) / 100);
  const which = el("select", { id: "review-which", onchange: () => choose() },
    ...[["dropped", "near copies"], ["out", "of these, what the thresholds would keep"], ["marked", "pairs that you marked"]]
      .map(([value, label]) => el("option", { value }, label)));
  const counts = el("p", { id: "review-counts", role: "status" });
  byId("review-tools").replaceChildren(
    el("label", {}, "Show", which), words.label, share.label, counts);

  function choose(place = 0) {
    const [limit, bound] = [Number(words.input.value), Number(share.input.value)];
    const out = droppedPairs.filter((pair) => isOut(pair, limit, bound));
    words.output.textContent = count(limit);
    share.output.textContent = bound.toFixed(2);
    counts.textContent = `${counting(droppedPairs.length - out.length, "near copy")} would be dropped, ${count(out.length)} kept, by these two figures alone.`;
    const lists = { dropped: droppedPairs, out, marked: droppedPairs.filter((pair) => marks.has(keyOf(pair))) };
    view.pairs = lists[which.value];
    view.place = Math.min(place, Math.max(0, view.pairs.length - 1));
    drawPair();
  }
  for (const one of [words, share]) one.input.addEventListener("input", () => choose());
  choose();
}

function slider(id, name, min, max, step, value) {
  const input = el("input", { type: "range", id, min, max, step, value });
  const output = el("output", { for: id });
  return { input, output, label: el("label", { for: id }, el("span", {}, `${name}: `, output), input) };
}

function drawPair() {
  const pair = view.pairs[view.place];
  const status = byId("review-status");
  status.textContent = pair ? `Pair ${count(view.place + 1)} of ${count(view.pairs.length)}` : "No pairs here.";
  byId("review-pair").replaceChildren(...(pair ? pairParts(pair) : []));
  const mark = pair && sayingOf(keyOf(pair));
  for (const [id, says] of [["mark-different", "different"], ["mark-copy", "copy"]]) {
    byId(id).setAttribute("aria-pressed", String(mark === says));
    byId(id).disabled = !pair || !isMarkable(pair);
  }
  byId("review-back").disabled = view.place === 0;
  byId("review-on").disabled = view.place >= view.pairs.length - 1;
  byId("save-marks").disabled = marks.size + changes.size === 0;
  byId("save-marks").textContent = marks.size ? `Save ${counting(marks.size, "mark")}` : "Save marks";
  otherMarks();
  byId("save-pairs").disabled = !view.pairs.length;
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
  view.place = place;
  drawPair();
}

function mark(says) {
  const pair = view.pairs[view.place];
  if (!pair || !isMarkable(pair)) return;
  const before = sayingOf(keyOf(pair));
  change(keyOf(pair), before === says ? null : { ...marks.get(keyOf(pair)), ...cellsOf(pair, says) });
}

// The columns that a crawl reads are page, other and says; site and label are those of a judged set.
const LABELS = { different: "C", copy: "A" };
const cellsOf = (pair, says) => ({ site: siteOf(pair.second), label: LABELS[says],
  page: pages.url[pair.second], other: pages.url[pair.first], says });

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
    marks.set(keyOfUrls(cells.page, cells.other), cells);
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
  const known = new Set(droppedPairs.map(keyOf));
  const others = [...marks.keys()].filter((key) => !known.has(key));
  byId("other-marks").hidden = !others.length;
  byId("other-marks").querySelector("summary").textContent =
    `${counting(others.length, "mark")} on pairs outside this report`;
  const url = (text) => el("bdi", { class: "page" }, text);
  table(byId("other-marks-table"), {
    caption: "Marks on other pairs", noun: "mark", rows: others,
    text: (key) => key,
    columns: [
      { name: "Page", head: true, cell: (key) => url(marks.get(key).page) },
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
function savePairs() {
  const rows = view.pairs.filter(isMarkable).map((pair) =>
    [pages.url[pair.second], pages.url[pair.first], pair.lost, pair.words, pair.similarity, sayingOf(keyOf(pair))]);
  save("pairs.csv", csvOf(["page", "other", "lost", "words", "similarity", "says"], rows));
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
  ["mark-copy", () => mark("copy")], ["save-marks", saveMarks], ["save-pairs", savePairs]]) byId(id).addEventListener("click", act);
