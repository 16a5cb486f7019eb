// The data of the report, the elements made of it, and tables that are searched and sorted.
const data = JSON.parse(document.getElementById("data").textContent);
const { pages, clusters } = data;
const NONE = "–"; // what stands where a value is null
const MORE = 50; // a table shows so many rows at first
const FEW = 8; // a table of so few rows needs no search
const count = new Intl.NumberFormat("en").format;
const plural = (noun) => (noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`);
const counting = (number, noun) => `${count(number)} ${number === 1 ? noun : plural(noun)}`;
const byId = (id) => document.getElementById(id);

// All text of pages goes in as text, never as markup.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const quiet = (...children) => el("span", { class: "quiet" }, ...children);
const button = (name, onclick, attributes = {}) => el("button", { type: "button", onclick, ...attributes }, name);

// A column has a *name*, a *cell* for each row and, where it sorts, a *key*, which may be null.
function table(host, { caption, noun, columns, rows, text }) {
  const view = { shown: rows, size: MORE, sort: null, typed: "" };
  const heads = columns.map((column) => headCell(column, () => {
    const again = view.sort?.column === column;
    view.sort = { column, direction: again ? -view.sort.direction : column.number ? -1 : 1 };
    choose();
  }));
  const body = el("tbody");
  const status = el("p", { class: "count", role: "status", "aria-live": "polite" });
  const more = button("Show more", () => { view.size *= 4; draw(); });
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...heads)), body));

  function choose() {
    const parts = view.typed.toLowerCase().split(/\s+/).filter(Boolean);
    view.shown = rows.filter((row) => parts.every((part) => text(row).toLowerCase().includes(part)));
    if (view.sort) sortRows(view.shown, view.sort);
    columns.forEach((column, place) => markSorted(heads[place], column, view.sort));
    view.size = MORE;
    draw();
  }

  function draw() {
    const found = view.shown.length;
    body.replaceChildren(...view.shown.slice(0, view.size).map((row) => el("tr", {}, ...columns.map((column) => dataCell(column, row)))));
    const all = counting(rows.length, noun);
    status.textContent = found ? (found === rows.length ? all : `${count(found)} of ${all}`)
      : `No ${plural(noun)}${rows.length ? " match the search" : ""}`;
    more.hidden = found <= view.size;
  }

  const search = el("label", { class: "wide" }, "Search", el("input", {
    type: "search", id: `${host.id}-search`, oninput: (event) => { view.typed = event.target.value; choose(); } }));
  scroll.hidden = !rows.length;
  host.replaceChildren(text && rows.length > FEW ? search : "", status, scroll, more);
  choose();
}

function headCell(column, sort) {
  return el("th", { scope: "col", class: classOf(column) }, column.key ? button(column.name, sort) : column.name);
}

const classOf = (column) => (column.number ? "number" : column.kind ?? null);

function dataCell(column, row) {
  const attributes = column.head ? { scope: "row" } : { "data-name": column.name };
  return el(column.head ? "th" : "td", { ...attributes, class: classOf(column) }, column.cell(row));
}

function sortRows(rows, { column, direction }) {
  const keys = new Map(rows.map((row) => [row, column.key(row) ?? -Infinity]));
  rows.sort((a, b) => {
    const one = keys.get(a), other = keys.get(b);
    return direction * (one < other ? -1 : one > other ? 1 : 0);
  });
}

function markSorted(head, column, sort) {
  if (sort?.column === column) head.setAttribute("aria-sort", sort.direction > 0 ? "ascending" : "descending");
  else head.removeAttribute("aria-sort");
}

// What a page looks like. What was escaped or cut is no address any more.
const isWhole = (page) => /^https?:\/\/[^\s\\…]+$/i.test(pages.url[page]);

function address(page) {
  const url = pages.url[page];
  const shown = el("bdi", {}, url);
  if (!isWhole(page)) return el("span", { class: "url" }, shown);
  return el("a", { class: "url", href: url, rel: "noopener noreferrer", target: "_blank" }, shown);
}

function pageCell(page) {
  const title = pages.title[page];
  return el("div", { class: "page" },
    title ? el("span", { class: "title", dir: "auto" }, el("bdi", {}, title)) : "",
    address(page));
}

// Of the words that are not on the page kept, those count that are *nowhere* on other pages kept either.
function lossOf(page) {
  const lost = pages.lost[page], nowhere = pages.nowhere[page], isCounted = pages.counted[page];
  if (lost === null) return NONE;
  return el("span", {}, !lost || (isCounted && nowhere === lost) ? "" : quiet("≈ "), count(nowhere), quiet(` of ${count(pages.words[page])}`));
}

function losesOf(page) {
  const lost = pages.lost[page], nowhere = pages.nowhere[page];
  if (lost === null) return "Not measured";
  if (lost === 0) return "Loses nothing";
  const elsewhere = nowhere === lost ? "" : `, all ${nowhere ? `but about ${count(nowhere)} ` : ""}of which stand on other pages kept`;
  return `Loses ${pages.counted[page] ? "" : "about "}${count(lost)} of ${counting(pages.words[page], "word")}${elsewhere}`;
}

const similarity = (page) => (pages.similarity[page] === null ? NONE : pages.similarity[page].toFixed(2));
const why = (page) => data.sentences[pages.why[page]];
const reasonOf = (page) => (data.reasons[pages.reason[page]] ?? "").replaceAll("_", " ").replace("duplicate", "copy");

function reasonTag(page) {
  const outcome = data.outcomes[pages.outcome[page]] ?? "confirmed";
  const tag = el("span", { class: "tag" }, reasonOf(page));
  return outcome === "confirmed" ? tag : el("span", {}, tag, " ", el("span", { class: "tag" }, outcome));
}
