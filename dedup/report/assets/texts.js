// Two texts side by side.
const LONG = 500; // so many characters are one paragraph
const textsOf = (first, second) => data.texts[`${first}:${second}`];
const differences = () => [el("del", {}, "only left"), ", ", el("ins", {}, "only right")];

function textsView(first, second) {
  const { stretches, is_cut } = textsOf(first, second);
  const view = el("div", { class: "diff card", role: "region", "aria-label": "Texts side by side" });
  view.append(el("div", { class: "side head" }, pageCell(first), pageCell(second)));
  let left, right, length;
  const begin = () => {
    left = el("p", { dir: "auto" });
    right = el("p", { dir: "auto" });
    length = 0;
  };
  const flush = () => {
    if (left.childNodes.length || right.childNodes.length) view.append(el("div", { class: "side" }, left, right));
    begin();
  };
  const both = (text) => {
    left.append(text, " ");
    right.append(text, " ");
    length += text.length;
  };
  const changed = ({ before, after }) => {
    if (before) left.append(el("del", {}, before), " ");
    if (after) right.append(el("ins", {}, after), " ");
    length += Math.max(before.length, after.length);
  };
  const equal = ({ start, omitted, end }) => {
    both(start);
    if (omitted) {
      flush();
      view.append(el("p", { class: "same" }, `${count(omitted)} equal words are left out`));
      both(end);
    } else if (length > LONG) flush();
  };
  begin();
  for (const stretch of stretches) ("before" in stretch ? changed : equal)(stretch);
  flush();
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
