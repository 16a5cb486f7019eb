// The review: one pair after the other, with what its second page loses, and what somebody says of it.
const isMarkable = (pair) => isWhole(pair.first) && isWhole(pair.second);
const marks = new Map(); // from the key of a pair to "different" or "copy"
const keyOf = (pair) => `${pages.url[pair.second]} ${pages.url[pair.first]}`;
const STORE = `dedup-marks:${document.title}`;

const droppedPairs = clusters.members.flatMap(([first, ...copies]) => copies.filter(isNear).map((second) => ({
  first, second, kept: false, lost: pages.lost[second], words: pages.words[second],
  similarity: pages.similarity[second], why: why(second),
})));
droppedPairs.sort((a, b) => (b.lost ?? -1) - (a.lost ?? -1) || (a.similarity ?? 1) - (b.similarity ?? 1));
const keptPairs = data.outside.map((pair) => ({ ...pair, kept: true, words: pages.words[pair.second] }));
const allPairs = [...droppedPairs, ...keptPairs];

const view = { pairs: droppedPairs, place: 0 };
// By the figures of a pair alone: whether it would be kept if so many words might be lost at most.
const isOut = (pair, words, share) => (pair.lost ?? 0) > words || (pair.similarity ?? 1) < share;

function review() {
  recall();
  const most = Math.max(1, ...droppedPairs.map((pair) => pair.lost ?? 0));
  const least = Math.min(1, ...droppedPairs.map((pair) => pair.similarity ?? 1));
  const words = slider("review-words", "Words lost, at most", 0, most, 1, most);
  const share = slider("review-share", "Similarity, at least", Math.floor(least * 100) / 100, 1, 0.01, Math.floor(least * 100) / 100);
  const which = el("select", { id: "review-which", onchange: () => choose() },
    ...[["dropped", "near copies that were dropped"], ["out", "of these, what the thresholds would keep"],
      ["kept", "kept pages, nearest to the threshold"], ["marked", "pairs that you marked"]]
      .map(([value, label]) => el("option", { value }, label)));
  const counts = el("p", { id: "review-counts", role: "status" });
  byId("review-tools").replaceChildren(
    el("label", {}, "Show", which), words.label, share.label, counts);

  function choose(place = 0) {
    const [limit, bound] = [Number(words.input.value), Number(share.input.value)];
    const out = droppedPairs.filter((pair) => isOut(pair, limit, bound));
    words.output.textContent = count(limit);
    share.output.textContent = bound.toFixed(2);
    counts.textContent = `${count(droppedPairs.length - out.length)} near copies would be dropped, ${count(out.length)} kept, by these two figures alone.`;
    const lists = { dropped: droppedPairs, out, kept: keptPairs, marked: allPairs.filter((pair) => marks.has(keyOf(pair))) };
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
  const mark = pair && marks.get(keyOf(pair));
  for (const [id, says] of [["mark-different", "different"], ["mark-copy", "copy"]]) {
    byId(id).setAttribute("aria-pressed", String(mark === says));
    byId(id).disabled = !pair || !isMarkable(pair);
  }
  byId("review-back").disabled = view.place === 0;
  byId("review-on").disabled = view.place >= view.pairs.length - 1;
  byId("save-marks").disabled = marks.size === 0;
  byId("save-marks").textContent = marks.size === 1 ? "Save 1 mark" : marks.size ? `Save ${count(marks.size)} marks` : "Save marks";
  byId("save-pairs").disabled = !view.pairs.length;
}

function pairParts(pair) {
  const lost = pair.lost === null ? "Not measured" : pair.lost === 0 ? "Loses nothing"
    : `Loses about ${count(pair.lost)} of ${count(pair.words)} words`;
  const figures = el("p", { class: "verdict" }, el("strong", {}, pair.kept ? `Kept. ${lost.replace("Loses", "Would lose")}` : lost),
    quiet(` similarity ${similarity(pair.similarity)}`));
  const texts = textsOf(pair.first, pair.second);
  const body = texts ? textsView(pair.first, pair.second, pair.kept)
    : el("div", { class: "diff card" }, sidesOf(pair.first, pair.second, pair.kept), el("p", { class: "quiet" },
      pair.lost === 0 && pair.similarity === 1 ? "The texts are equal word for word, or are not stored."
        : "The texts of these two are not in this file. A crawl with DEDUP_STORE_PAGES = True keeps texts."));
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
  const key = keyOf(pair);
  if (marks.get(key) === says) marks.delete(key);
  else marks.set(key, says);
  keep();
  drawPair();
}

// Marks outlive a reload where the browser lets a file keep anything.
function recall() {
  try {
    for (const [key, says] of JSON.parse(localStorage.getItem(STORE) ?? "[]")) {
      if (says === "different" || says === "copy") marks.set(key, says);
    }
  } catch { /* nothing is kept, or it is not ours */ }
  const known = new Set(allPairs.map(keyOf));
  for (const key of marks.keys()) if (!known.has(key)) marks.delete(key);
}
function keep() {
  try { localStorage.setItem(STORE, JSON.stringify([...marks])); } catch { /* no storage for files */ }
}

const csvCell = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
const csvOf = (names, rows) => [names, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// The columns of DEDUP_EXCEPTIONS are page, other and says; site and label are those of a judged set.
const LABELS = { different: ["C", "N"], copy: ["A", "M"] };
function saveMarks() {
  const rows = allPairs.filter((pair) => marks.has(keyOf(pair))).map((pair) => {
    const says = marks.get(keyOf(pair));
    return [siteOf(pair.second), LABELS[says][Number(pair.kept)], pages.url[pair.second], pages.url[pair.first], says];
  });
  save("marks.csv", csvOf(["site", "label", "page", "other", "says"], rows));
}
function savePairs() {
  const rows = view.pairs.filter(isMarkable).map((pair) =>
    [pages.url[pair.second], pages.url[pair.first], pair.kept ? "kept" : "dropped", pair.lost, pair.words, pair.similarity, marks.get(keyOf(pair))]);
  save("pairs.csv", csvOf(["page", "other", "verdict", "lost", "words", "similarity", "says"], rows));
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
