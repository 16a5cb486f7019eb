// Two texts side by side, paragraph beside paragraph.
const textsOf = (first, second) => data.texts[`${first}:${second}`];
const differences = () => [el("del", {}, "only left"), ", ", el("ins", {}, "only right")];

function sidesOf(first, second, fates = []) {
  const side = (page, place) => el("div", {}, ...(fates[place] ? [quiet(fates[place])] : []), pageCell(page));
  return el("div", { class: "side head" }, side(first, 0), side(second, 1));
}

function textsView(first, second, fates) {
  const { rows, is_cut } = textsOf(first, second);
  const view = el("div", { class: "diff card", role: "region", "aria-label": "Texts side by side" },
    sidesOf(first, second, fates));
  const side = (spans, tag) => el("p", { dir: "auto" },
    ...spans.flatMap(([text, changed]) => [changed ? el(tag, {}, text) : text, " "]));
  for (const row of rows) {
    view.append(typeof row === "number"
      ? el("p", { class: "same" }, `${count(row)} equal words are left out`)
      : el("div", { class: "side" }, side(row[0], "del"), side(row[1], "ins")));
  }
  if (is_cut) view.append(el("p", { class: "same" }, "The texts go on; only their beginnings are compared."));
  return view;
}

// A button that opens the two texts in a row below its own.
function textsButton(first, second) {
  if (!textsOf(first, second)) return "";
  const open = (row) => row.after(el("tr", { class: "diff-row" }, el("td", { colspan: row.children.length },
    el("p", { class: "quiet" }, "The page seen first is on the left: ", ...differences(), "."),
    textsView(first, second))));
  return el("button", { type: "button", class: "diff-button", "aria-expanded": "false", onclick: (event) => {
    const button = event.currentTarget, row = button.closest("tr");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    button.textContent = isOpen ? "Compare texts" : "Close";
    if (isOpen) row.nextSibling.remove();
    else open(row);
  } }, "Compare texts");
}
