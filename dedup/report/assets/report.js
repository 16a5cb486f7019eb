"use strict";
// Without this script all pairs of the review stand below each other; it shows one at a time, and sends marks.
const byId = (id) => document.getElementById(id);
const all = (query, within = document) => [...within.querySelectorAll(query)];
const pairs = all(".pair"), review = byId("review");
const { token } = document.body.dataset;
const LABELS = { different: "C", copy: "A" }; // those of a judged set
let current = 0;

const pressed = (group) => group?.querySelector("button[aria-pressed=true]")?.value ?? "";

// A pair is reviewed when somebody has said something of it, or of a place in which it differs.
const isReviewed = (pair) => pressed(pair) || pair.dataset.places.split(" ").some((place) => pressed(byId(`place-${place}`)));

function turn(to) {
  if (!pairs[to]) return;
  current = to;
  draw();
  review.focus({ preventScroll: true }); // what had the focus may be hidden
}

function draw() {
  const reviewed = pairs.filter(isReviewed).length;
  pairs.forEach((pair, place) => { pair.hidden = place !== current; });
  for (const place of all(".place")) place.classList.toggle("decided", pressed(place) !== "");
  if (!pairs.length) return;
  byId("review-back").hidden = current === 0;
  byId("review-on").hidden = current === pairs.length - 1;
  byId("review-status").textContent = !token ? `Pair ${current + 1} of ${pairs.length}`
    : `${reviewed} of ${pairs.length} reviewed${reviewed === pairs.length ? ": done. The next crawl obeys." : `, this is pair ${current + 1}`}`;
}

function press(group, says) {
  for (const button of all("button[value]", group)) button.setAttribute("aria-pressed", String(button.value === says));
  draw();
}

// A mark goes to the server at once, and on to the next pair; the same one again takes it back.
async function decide(button) {
  const group = button.closest("[data-mark]"), before = pressed(group);
  const says = before === button.value ? "" : button.value;
  press(group, says);
  if (says && group === pairs[current]) turn(current + 1);
  const problem = await sent({ ...JSON.parse(group.dataset.mark), says, label: LABELS[says] ?? "" });
  byId("saved").textContent = problem ? `Not saved: ${problem}` : `Saved in ${byId("marks").textContent}.`;
  if (problem) press(group, before);
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
const on = () => turn(current + 1), back = () => turn(current - 1);
const KEYS = { ArrowRight: on, j: on, ArrowLeft: back, k: back, d: () => mark("different"), c: () => mark("copy") };
review.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

// The pair that the address names.
function follow() {
  const named = pairs.findIndex((pair) => `#${pair.id}` === location.hash);
  if (named < 0) return;
  turn(named);
  review.scrollIntoView();
}

for (const part of all(".part")) part.style.flexGrow = part.dataset.share;
for (const button of all("button[value]")) button.addEventListener("click", () => decide(button));
byId("review-back")?.addEventListener("click", back);
byId("review-on")?.addEventListener("click", on);
current = Math.max(0, pairs.findIndex((pair) => !isReviewed(pair)));
draw();
follow();
addEventListener("hashchange", follow);
