// The parts of the report.
function overview() {
  const columns = (name, key) => [
    { name, head: true, key, cell: (row) => el("bdi", {}, row.name) },
    { name: "Pages seen", number: true, key: (row) => row.pages, cell: (row) => count(row.pages) },
    { name: "Copies", number: true, key: (row) => row.duplicates, cell: (row) => count(row.duplicates) },
    { name: "Share", number: true, key: (row) => row.duplicates / row.pages, cell: (row) => percent(row.duplicates, row.pages) },
  ];
  const sum = data.parts.reduce((all, [, number]) => all + number, 0);
  byId("parts").replaceChildren(...data.parts.filter(([, number]) => number).map(([name, number]) => {
    const part = el("span", { class: `part ${name}`, title: `${count(number)} ${name}` }, `${count(number)} ${name}`);
    part.style.flexGrow = number / sum;
    return part;
  }));
  if (data.by_site.length > 1) table(byId("sites-table"), {
    caption: "Pages and copies by site", noun: "site", size: 10, rows: data.by_site, text: (row) => row.name,
    columns: columns("Site", (row) => row.name),
  });
  if (data.by_run.length > 1) table(byId("runs-table"), {
    caption: "Pages and copies by run", noun: "run", size: 10, rows: data.by_run,
    columns: [...columns("Run", (row) => Number(row.name)),
      { name: "Spider", cell: (row) => el("bdi", {}, row.spider) },
      { name: "Started (UTC)", cell: (row) => row.started },
      { name: "Ended", cell: (row) => el("bdi", {}, row.ending) },
      { name: "Copies were", cell: (row) => row.fate }],
  });
}

// Columns of a page.
const measuredOf = (page) => ({
  lost: pages.lost[page], nowhere: pages.nowhere[page], words: pages.words[page], counted: pages.counted[page], similarity: pages.similarity[page],
});
const figureColumns = [
  { name: "Words lost", number: true, key: (page) => pages.nowhere[page], cell: (page) => loss(measuredOf(page)) },
  { name: "Which", kind: "why", cell: (page) => (pages.lost_words[page] ? el("del", {}, pages.lost_words[page]) : "") },
  { name: "Similarity", number: true, key: (page) => pages.similarity[page], cell: (page) => similarity(pages.similarity[page]) },
  { name: "Run", number: true, key: (page) => pages.run[page], cell: (page) => String(pages.run[page]) },
];

function duplicateList() {
  const duplicates = clusters.flatMap((members) => members.slice(1));
  table(byId("duplicates-table"), {
    caption: "Copies, those that lose most first", noun: "copy", rows: duplicates, text: pageText,
    filters: pageFilters((page) => [page], duplicates),
    columns: [
      { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
      { name: "Page kept", cell: (page) => pageCell(canonicalOf(clusterOf.get(page))) },
      { name: "Reason", key: (page) => pages.reason[page], cell: reasonTag },
      ...figureColumns,
      { name: "Why", kind: "why", cell: (page) => el("details", {}, el("summary", {}, "Why"), el("div", {}, why(page))) },
      { name: "Texts", cell: (page) => textsButton(canonicalOf(clusterOf.get(page)), page) },
    ],
  });
}
