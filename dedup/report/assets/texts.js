// Two texts side by side, paragraph beside paragraph.
const textsOf = (first, second) => data.texts[`${first}:${second}`];
// What the marks in the texts mean.
const legend = (page) => el("p", { class: "legend" },
  el("del", {}, pages.nowhere[page] < pages.lost[page] ? "not on the page kept" : "lost with this copy"), " ",
  el("span", { class: "own" }, "only on the page kept"));

function sidesOf(first, second) {
  const side = (page, fate) => el("div", {}, quiet(fate), pageCell(page));
  return el("div", { class: "side head" }, side(first, "Page kept"), side(second, "Copy"));
}

const spansOf = (spans, tag) => spans.flatMap(([text, changed]) => [text.startsWith(" ") ? " " : "",
  changed ? el(tag, { class: tag === "span" ? "own" : null }, text.trim()) : text.trim()]);

function textsView(first, second) {
  const { rows, is_cut } = textsOf(first, second);
  const view = el("div", { class: "diff card", role: "region", "aria-label": "Texts side by side" },
    sidesOf(first, second), legend(second));
  const side = (spans, tag) => el("p", { dir: "auto" }, ...spansOf(spans, tag));
  for (const row of rows) {
    if (typeof row === "number") {
      view.append(el("p", { class: "same" }, `${count(row)} equal words are left out`));
      continue;
    }
    const isEqual = !row.flat().some(([, changed]) => changed);
    view.append(el("div", { class: isEqual ? "side equal" : "side" }, side(row[0], "span"), side(row[1], "del")));
  }
  if (is_cut) view.append(el("p", { class: "same" }, "The texts go on; only their beginnings are compared."));
  return view;
}

// A button that opens the two texts in a row below its own.
function textsButton(first, second) {
  if (!textsOf(first, second)) return "";
  const open = (row) => row.after(el("tr", { class: "diff-row" }, el("td", { colspan: row.children.length },
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
