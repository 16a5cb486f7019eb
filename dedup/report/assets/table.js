// Tables: filtered, sorted, a page of rows at a time.
const PER_PAGE = [10, 50, 200, 1000];
const FEW = 8; // a table of so few rows needs no search

// A column has a *name*, a *cell* for each row and, where it sorts, a *key*, which may be null.
function table(host, { caption, noun, columns, rows, text, filters = [], size = 50 }) {
  const view = { shown: rows, page: 0, size, sort: null, search: "" };
  const isShort = rows.length <= FEW;
  const texts = new Map();
  const matches = (row, part) => {
    if (!texts.has(row)) texts.set(row, text(row).toLowerCase());
    return texts.get(row).includes(part);
  };
  const heads = columns.map((column) => headCell(column, () => {
    const again = view.sort && view.sort.column === column;
    view.sort = { column, direction: again ? -view.sort.direction : column.number ? -1 : 1 };
    choose();
  }));
  const body = el("tbody");
  const status = el("p", { class: "count", role: "status", "aria-live": "polite" });
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...heads)), body));
  const pager = pagerOf(view, size, draw, () => scroll.scrollIntoView({ block: "nearest" }));

  function choose() {
    const parts = view.search.toLowerCase().split(/\s+/).filter(Boolean);
    const active = filters.filter((filter) => filter.value);
    view.shown = rows.filter((row) =>
      active.every((filter) => filter.passes(row, filter.value)) && parts.every((part) => matches(row, part)));
    if (view.sort) sortRows(view.shown, view.sort);
    columns.forEach((column, place) => markSorted(heads[place], column, view.sort));
    view.page = 0;
    draw();
  }

  function draw() {
    const total = view.shown.length, from = view.page * view.size;
    const part = view.shown.slice(from, from + view.size);
    body.replaceChildren(...part.map((row) => el("tr", {}, ...columns.map((column) => dataCell(column, row)))));
    const all = counting(rows.length, noun);
    status.textContent = total
      ? `${total === rows.length ? all : `${count(total)} of ${all}`}, showing ${count(from + 1)} to ${count(from + part.length)}`
      : `No ${plural(noun)}${rows.length ? " match the filters" : ""}`;
    pager.hidden = rows.length <= size;
    pager.update();
  }

  const tools = el("form", { class: "filters", role: "search", "aria-label": caption,
    onsubmit: (event) => event.preventDefault() });
  if (text && !isShort) {
    tools.append(searchField(`${host.id}-search`, (typed) => { view.search = typed; choose(); }));
    for (const filter of filters) tools.append(filterField(filter, `${host.id}-${filter.name}`, choose));
  }
  if (isShort && rows.length) status.classList.add("unseen");
  scroll.hidden = !rows.length;
  host.replaceChildren(tools.children.length ? tools : "", el("div", { class: "pager" }, status, pager), scroll);
  choose();
}

function headCell(column, sort) {
  const label = column.key ? el("button", { type: "button", onclick: sort }, column.name) : column.name;
  return el("th", { scope: "col", class: classOf(column, "") }, label);
}

const classOf = (column, kind) => (column.number ? "number" : kind) || null;

function dataCell(column, row) {
  return el(column.head ? "th" : "td", {
    scope: column.head ? "row" : null,
    class: classOf(column, column.kind ?? ""),
    "data-name": column.head ? null : column.name,
  }, column.cell(row));
}

function sortRows(rows, { column, direction }) {
  const keys = new Map(rows.map((row) => [row, column.key(row) ?? -Infinity]));
  rows.sort((a, b) => {
    const one = keys.get(a), other = keys.get(b);
    return direction * (one < other ? -1 : one > other ? 1 : 0);
  });
}

function markSorted(head, column, sort) {
  if (sort && sort.column === column) head.setAttribute("aria-sort", sort.direction > 0 ? "ascending" : "descending");
  else head.removeAttribute("aria-sort");
}

// Buttons that turn the pages of *view*, which *draw* shows; *turned* is called after them.
function pagerOf(view, size, draw, turned) {
  const last = () => Math.max(0, Math.ceil(view.shown.length / view.size) - 1);
  const turner = (label, page) => el("button", { type: "button", onclick: () => {
    view.page = Math.min(Math.max(page(), 0), last());
    draw();
    turned();
  } }, label);
  const first = turner("First", () => 0);
  const previous = turner("Previous", () => view.page - 1);
  const next = turner("Next", () => view.page + 1);
  const end = turner("Last", last);
  const where = el("span");
  const sizes = el("select", { onchange: (event) => { view.size = Number(event.target.value); view.page = 0; draw(); } },
    ...PER_PAGE.filter((rows) => rows >= size).map((rows) => el("option", { value: rows }, String(rows))));
  const pager = el("span", { class: "pager" }, first, previous, where, next, end, el("label", {}, "Rows ", sizes));
  pager.update = () => {
    where.textContent = `Page ${count(view.page + 1)} of ${count(last() + 1)}`;
    first.disabled = previous.disabled = view.page === 0;
    next.disabled = end.disabled = view.page === last();
  };
  return pager;
}

function searchField(id, search) {
  let waiting = 0;
  return el("label", { class: "wide" }, "Search", el("input", {
    type: "search", id, placeholder: "parts of the URL or title",
    oninput: (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => search(event.target.value), 120);
    } }));
}

function filterField(filter, id, choose) {
  const changed = (event) => { filter.value = event.target.value.trim(); choose(); };
  if (filter.choices.length <= 60) {
    return el("label", {}, filter.label, el("select", { id, onchange: changed },
      el("option", { value: "" }, "all"),
      ...filter.choices.map(([value, label]) => el("option", { value }, label))));
  }
  return el("label", {}, filter.label,
    el("input", { id, type: "search", list: `${id}-list`, placeholder: "all", oninput: changed }),
    el("datalist", { id: `${id}-list` },
      ...filter.choices.slice(0, 500).map(([value]) => el("option", { value }))));
}
