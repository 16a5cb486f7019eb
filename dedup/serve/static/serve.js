"use strict";
// Brings the overview up to date every few seconds.  The server has escaped what it sends.
const state = document.getElementById("state");
const pause = document.getElementById("pause");
const fresh = document.getElementById("fresh");

async function refresh() {
  if (pause.getAttribute("aria-pressed") === "true" || document.hidden) return;
  try {
    const answer = await fetch("/live.json");
    if (!answer.ok) throw new Error(answer.statusText);
    state.innerHTML = (await answer.json()).state;
    fresh.textContent = "";
  } catch (error) {
    fresh.textContent = "The server does not answer. The figures are not up to date.";
  }
}

if (state) {
  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(paused));
    fresh.textContent = paused ? "Paused." : "";
  });
  setInterval(refresh, 2000);
}
