// The parts of the report.
function overview() {
  const elsewhere = (row) => el("span", {}, count(row.elsewhere),
    row.other === null ? "" : quiet(" (most: ", el("bdi", {}, row.other), ")"));
  const columns = (name, key, other) => [
    { name, head: true, key, cell: (row) => el("bdi", {}, row.name) },
    { name: "Pages seen", number: true, key: (row) => row.pages, cell: (row) => count(row.pages) },
    { name: "Copies", number: true, key: (row) => row.duplicates, cell: (row) => count(row.duplicates) },
    { name: "Share", number: true, key: (row) => row.duplicates / row.pages, cell: (row) => percent(row.duplicates, row.pages) },
    { name: `Page kept ${other}`, key: (row) => row.elsewhere, cell: elsewhere },
  ];
  const sum = data.parts.reduce((all, [, number]) => all + number, 0);
  byId("parts").replaceChildren(...data.parts.filter(([, number]) => number).map(([name, number]) => {
    const part = el("span", { class: `part ${name}`, title: `${count(number)} ${name}` }, `${count(number)} ${name}`);
    part.style.flexGrow = number / sum;
    return part;
  }));
  if (data.by_site.length > 1) table(byId("sites-table"), {
    caption: "Pages and copies by site", noun: "site", size: 10, rows: data.by_site, text: (row) => row.name,
    columns: columns("Site", (row) => row.name, "on another site"),
  });
  if (data.by_run.length > 1) table(byId("runs-table"), {
    caption: "Pages and copies by run", noun: "run", size: 10, rows: data.by_run,
    columns: [...columns("Run", (row) => Number(row.name), "in another run"),
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
  { name: "Content bits", detail: true, number: true, key: (page) => pages.content[page], cell: (page) => bits(pages.content[page]) },
  { name: "Structure bits", detail: true, number: true, key: (page) => pages.structure[page], cell: (page) => bits(pages.structure[page]) },
  { name: "Run", number: true, key: (page) => pages.run[page], cell: (page) => String(pages.run[page]) },
];

function clusterList() {
  const all = [...clusters.members.keys()];
  const hasNear = (cluster) => clusters.members[cluster].slice(1).some(isNear);
  const near = all.filter(hasNear).sort((a, b) => (clusters.lost[b] ?? -1) - (clusters.lost[a] ?? -1));
  const exact = all.filter((cluster) => !hasNear(cluster));
  clusterTable("clusters-table", "Clusters with near copies, those that lose most words first", near);
  byId("exact-clusters").hidden = !exact.length;
  byId("exact-clusters").open = !near.length;
  byId("exact-clusters").querySelector("summary").textContent = `${counting(exact.length, "cluster")} of exact copies only: nothing is lost`;
  byId("clusters-count").textContent = `${counting(all.length, "cluster")}: ${count(near.length)} with near copies, ${count(exact.length)} of exact copies only.`;
  clusterTable("exact-table", "Clusters of exact copies only, the largest first", exact);
}

function clusterTable(id, caption, rows) {
  const members = (cluster) => clusters.members[cluster];
  const sites = (cluster) => new Set(members(cluster).map(siteOf)).size;
  const kept = (cluster) => el("div", { class: "page" },
    el("span", { class: "title", dir: "auto" }, clusterLink(canonicalOf(cluster))), address(canonicalOf(cluster)));
  table(byId(id), {
    caption, noun: "cluster", rows,
    text: (cluster) => members(cluster).slice(0, 200).map(pageText).join(" "),
    filters: pageFilters(members, rows.flatMap(members)),
    columns: [
      { name: "Page kept", head: true, key: (cluster) => clusterName(cluster), cell: kept },
      { name: "Copies", number: true, key: (cluster) => clusters.size[cluster], cell: (cluster) => count(clusters.size[cluster]) },
      { name: "Most words lost", number: true, key: (cluster) => clusters.lost[cluster], cell: (cluster) => counted(clusters.lost[cluster]) },
      { name: "Sites", number: true, key: sites, cell: (cluster) => count(sites(cluster)) },
    ],
  });
}

function clusterPage(cluster) {
  const [canonical, ...duplicates] = clusters.members[cluster];
  const size = clusters.size[cluster];
  byId("cluster-title").textContent = `${clusterName(cluster)}: ${counting(size, "copy")}`;
  const host = el("div", { id: "members" });
  const note = size > duplicates.length
    ? el("p", { class: "quiet" }, `Only the first ${count(duplicates.length)} copies are in this file.`) : "";
  byId("cluster-body").replaceChildren(clusterFacts(cluster, canonical), note, host);
  table(host, {
    caption: "The copies, and why each is one", noun: "copy", rows: duplicates, text: pageText,
    filters: pageFilters((page) => [page], duplicates),
    columns: [
      { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
      { name: "Why", kind: "why", key: (page) => pages.reason[page], cell: (page) => el("div", {}, reasonTag(page), el("div", {}, why(page))) },
      ...figureColumns,
      { name: "Texts", cell: (page) => textsButton(canonical, page) },
    ],
  });
}

function clusterFacts(cluster, canonical) {
  return el("dl", { class: "facts" },
    el("dt", {}, "Page kept"), el("dd", {}, pageCell(canonical)),
    el("dt", {}, "Seen"), el("dd", {}, `run ${pages.run[canonical]}, ${pages.time[canonical]} UTC; ${counting(pages.words[canonical], "word")}`),
    el("dt", {}, "Most words lost"), el("dd", {}, counted(clusters.lost[cluster])));
}

function duplicateList() {
  const duplicates = clusters.members.flatMap((members) => members.slice(1));
  table(byId("duplicates-table"), {
    caption: "Copies, those of the largest clusters first", noun: "copy", rows: duplicates, text: pageText,
    filters: pageFilters((page) => [page], duplicates),
    columns: [
      { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
      { name: "Page kept", cell: (page) => pageCell(canonicalOf(clusterOf.get(page))) },
      { name: "Reason", key: (page) => pages.reason[page], cell: reasonTag },
      ...figureColumns,
      { name: "Cluster", key: (page) => clusterOf.get(page), cell: clusterLink },
    ],
  });
}
