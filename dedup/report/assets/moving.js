// Moving about: the part that the address names is open; then everything is drawn once.
function show(moves) {
  const name = location.hash.slice(1);
  if (name === "content") return;
  const open = partNamed(name);
  for (const view of document.querySelectorAll("section.view")) view.hidden = view.id !== open;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${open}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (moves) {
    byId(`${open}-title`).focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function partNamed(name) {
  const exists = name && document.querySelector(`section.view#${CSS.escape(name)}`);
  return exists ? name : "overview";
}

function themes() {
  const button = byId("theme"), root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const remember = () => { try { localStorage.setItem("theme", root.dataset.theme); } catch { /* no storage for files */ } };
  if (["dark", "light"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember();
    label();
  });
  system.addEventListener("change", label);
  label();
}

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
  const search = document.querySelector("section.view:not([hidden]) input[type=search]");
  if (search) { event.preventDefault(); search.focus(); }
});

themes();
overview();
duplicateList();
review();
show(false);
addEventListener("hashchange", () => show(true));
