"use strict";
// Without this script all parts stand below each other; it opens one at a time, and one pair of the review.
const byId = (id) => document.getElementById(id);
const all = (query, within = document) => [...within.querySelectorAll(query)];
const pairs = all(".pair");
const { token } = document.body.dataset;
const LABELS = { different: "C", copy: "A" }; // those of a judged set
let current = 0;

// The part that the address names is open, or the pair.
function show(moves) {
  const name = location.hash.slice(1);
  if (name === "content") return;
  const pair = pairs.findIndex((one) => one.id === name);
  if (pair >= 0) turn(pair - current);
  const open = byId(name)?.closest("section.view") ?? byId("overview");
  for (const view of all("section.view")) view.hidden = view !== open;
  for (const link of all("nav a")) {
    if (link.hash === `#${open.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!moves) return;
  byId(`${open.id}-title`).focus({ preventScroll: true });
  scrollTo(0, 0);
}

// The review: one copy after the other, and what somebody says of it or of a place

const pressed = (group) => group?.querySelector("button[aria-pressed=true]")?.value ?? "";

// A pair is reviewed when somebody has said something of it, or of a place in which it differs.
const isReviewed = (pair) => pressed(pair) || pair.dataset.places.split(" ").some((place) => pressed(byId(`place-${place}`)));

function turn(by) {
  if (!pairs[current + by]) return;
  current += by;
  drawReview();
}

function drawReview() {
  const reviewed = pairs.filter(isReviewed).length;
  pairs.forEach((pair, place) => { pair.hidden = place !== current; });
  byId("review-back").hidden = current === 0;
  byId("review-on").hidden = current >= pairs.length - 1;
  for (const place of all(".place")) place.classList.toggle("decided", pressed(place) !== "");
  if (!pairs.length) return;
  byId("review-status").textContent = !token ? `Pair ${current + 1} of ${pairs.length}`
    : `${reviewed} of ${pairs.length} reviewed${reviewed === pairs.length ? ": done. The next crawl obeys." : `, this is pair ${current + 1}`}`;
}

function press(group, says) {
  for (const button of all("button[value]", group)) button.setAttribute("aria-pressed", String(button.value === says));
  drawReview();
}

// A mark goes to the server at once, and on to the next pair; the same one again takes it back.
async function decide(button) {
  const group = button.closest("[data-marks]"), before = pressed(group);
  const says = before === button.value ? "" : button.value;
  press(group, says);
  if (says && group === pairs[current]) turn(1);
  for (const cells of JSON.parse(group.dataset.marks)) {
    const problem = await sent({ ...cells, says, label: LABELS[says] ?? "" });
    byId("saved").textContent = problem ? `Not saved: ${problem}` : `Saved in ${byId("marks").textContent}.`;
    if (problem) press(group, before);
  }
}

// Returns what went wrong, "" for nothing.
async function sent(cells) {
  try {
    const answer = await fetch("marks", { method: "POST", body: JSON.stringify(cells),
      headers: { "Content-Type": "application/json", "X-Dedup-Token": token } });
    return answer.ok ? "" : await answer.text();
  } catch {
    return "the server does not answer; start dedup report --serve again.";
  }
}

const mark = (says) => pairs[current]?.querySelector(`button[value=${says}]`)?.click();
const KEYS = { ArrowRight: () => turn(1), j: () => turn(1), ArrowLeft: () => turn(-1), k: () => turn(-1),
  d: () => mark("different"), c: () => mark("copy") };
addEventListener("keydown", (event) => {
  if (byId("review").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

// Tables that are sorted and searched

function sort(head) {
  const [body] = head.closest("table").tBodies, isNumber = head.className === "number";
  const isUp = head.ariaSort ? head.ariaSort === "descending" : !isNumber;
  const key = (row) => {
    const cell = row.cells[head.cellIndex], raw = cell.dataset.key ?? cell.textContent;
    return isNumber ? Number(raw) : raw;
  };
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.ariaSort = isUp ? "ascending" : "descending";
  const keys = new Map([...body.rows].map((row) => [row, key(row)]));
  const order = (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0);
  body.append(...[...body.rows].sort((a, b) => (isUp ? order(a, b) : order(b, a))));
}

function search(typed) {
  const rows = all("#duplicates tbody tr"), parts = typed.toLowerCase().split(/\s+/);
  for (const row of rows) {
    const [copy, , reason, , , , run] = [...row.cells].map((cell) => cell.textContent);
    const text = `${copy} ${reason} run ${run}`.toLowerCase();
    row.hidden = !parts.every((part) => text.includes(part));
  }
  const found = rows.filter((row) => !row.hidden).length;
  byId("found").textContent = found ? `${found} of ${rows.length} copies` : "No copies match the search";
}

for (const part of all(".part")) part.style.flexGrow = part.dataset.share;
for (const button of all("button[value]")) button.addEventListener("click", () => decide(button));
for (const button of all("thead button")) button.addEventListener("click", () => sort(button.parentElement));
byId("search")?.addEventListener("input", (event) => search(event.target.value));
byId("review-back").addEventListener("click", () => turn(-1));
byId("review-on").addEventListener("click", () => turn(1));
current = Math.max(0, pairs.findIndex((pair) => !isReviewed(pair)));
drawReview();
show(false);
addEventListener("hashchange", () => show(true));
