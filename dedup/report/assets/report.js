// The parts of the report, and moving between them: the part that the address names is open.
function overview() {
  const sum = data.parts.reduce((all, [, number]) => all + number, 0);
  byId("parts").replaceChildren(...data.parts.filter(([, number]) => number).map(([name, number]) => {
    const part = el("span", { class: `part ${name}` }, `${count(number)} ${name}`);
    part.style.flexGrow = number / sum;
    return part;
  }));
  const columns = (name, key) => [
    { name, head: true, key, cell: (row) => el("bdi", {}, row.name) },
    { name: "Pages seen", number: true, key: (row) => row.pages, cell: (row) => count(row.pages) },
    { name: "Copies", number: true, key: (row) => row.duplicates, cell: (row) => count(row.duplicates) },
    { name: "Share", number: true, key: (row) => row.duplicates / row.pages, cell: (row) => `${((100 * row.duplicates) / row.pages).toFixed(1)}%` },
  ];
  if (data.by_site.length > 1) table(byId("sites-table"), {
    caption: "Pages and copies by site", noun: "site", rows: data.by_site, text: (row) => row.name,
    columns: columns("Site", (row) => row.name),
  });
  if (data.by_run.length > 1) table(byId("runs-table"), {
    caption: "Pages and copies by run", noun: "run", rows: data.by_run,
    columns: [...columns("Run", (row) => Number(row.name)),
      { name: "Spider", cell: (row) => el("bdi", {}, row.spider) },
      { name: "Started (UTC)", cell: (row) => row.started },
      { name: "Ended", cell: (row) => el("bdi", {}, row.ending) },
      { name: "Copies were", cell: (row) => row.fate }],
  });
}

function duplicateList() {
  const canonicals = new Map(clusters.flatMap(([first, ...copies]) => copies.map((page) => [page, first])));
  table(byId("duplicates-table"), {
    caption: "Copies, those that lose most first", noun: "copy", rows: [...canonicals.keys()],
    text: (page) => `${pages.url[page]} ${pages.title[page]} run ${pages.run[page]} ${reasonOf(page)}`,
    columns: [
      { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
      { name: "Page kept", cell: (page) => pageCell(canonicals.get(page)) },
      { name: "Reason", key: (page) => pages.reason[page], cell: reasonTag },
      { name: "Words lost", number: true, key: (page) => pages.nowhere[page], cell: lossOf },
      { name: "Which", kind: "why", cell: (page) => (pages.lost_words[page] ? el("del", {}, pages.lost_words[page]) : "") },
      { name: "Similarity", number: true, key: (page) => pages.similarity[page], cell: similarity },
      { name: "Run", number: true, key: (page) => pages.run[page], cell: (page) => String(pages.run[page]) },
      { name: "Why", kind: "why", cell: (page) => el("div", {}, el("details", {}, el("summary", {}, "Why"), why(page)),
        isReviewable(page) ? button("Compare", () => review(page)) : "") },
    ],
  });
}

function show(moves) {
  const name = location.hash.slice(1);
  if (name === "content") return;
  const views = [...document.querySelectorAll("section.view")];
  const open = views.find((view) => view.id === name) ?? byId("overview");
  for (const view of views) view.hidden = view !== open;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${open.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (moves) {
    byId(`${open.id}-title`).focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

overview();
recall();
duplicateList();
drawReview();
show(false);
addEventListener("hashchange", () => show(true));
