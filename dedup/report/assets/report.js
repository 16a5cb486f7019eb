"use strict";
// Sends marks to the server that shows this report.
const all = (query, within = document) => [...within.querySelectorAll(query)];
const { token, marks } = document.body.dataset;

const pressed = (group) => group?.querySelector("button[aria-pressed=true]")?.value ?? "";

// What somebody has said something of is shown as decided.
function press(group, says) {
  for (const button of all("button", group)) button.setAttribute("aria-pressed", String(button.value === says));
  group.classList.toggle("decided", says !== "");
}

// A mark goes to the server at once; the same one again takes it back.
async function decide(button) {
  const group = button.closest("[data-mark]"), before = pressed(group);
  const says = before === button.value ? "" : button.value;
  press(group, says);
  const body = JSON.stringify({ ...JSON.parse(group.dataset.mark), says });
  const headers = { "Content-Type": "application/json", "X-Dedup-Token": token };
  const problem = await fetch("marks", { method: "POST", body, headers })
    .then((answer) => (answer.ok ? "" : answer.text()))
    .catch(() => "the server has ended; start dedup report --serve again.");
  const saved = problem ? `Not saved: ${problem}` : `Saved in ${marks}: the next crawl obeys.`;
  document.getElementById("saved").textContent = saved;
  if (problem) press(group, before);
}

for (const button of all("button")) button.addEventListener("click", () => decide(button));
for (const group of all("[data-mark]")) press(group, pressed(group));
