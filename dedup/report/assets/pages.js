// What a page looks like in a table.
// What was escaped or cut is no address any more.
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

const similarity = (value) => (value === null ? NONE : value.toFixed(2));
// How many words are lost with a page, of how many; they are estimated unless they were *counted*.
const about = (isCounted) => (isCounted ? "" : "about ");
// Of the words that are not on the page kept, those count that are *nowhere* on other pages kept either.
const loss = ({ lost, nowhere, words, counted }) => (lost === null ? NONE
  : el("span", {}, !lost || (counted && nowhere === lost) ? "" : quiet("≈ "), count(nowhere), quiet(` of ${count(words)}`)));
const losesOf = ({ lost, nowhere, words, counted }) => (lost === null ? "Not measured" : lost === 0 ? "Loses nothing"
  : `Loses ${about(counted)}${count(lost)} of ${counting(words, "word")}${elsewhere(lost, nowhere)}`);
const elsewhere = (lost, nowhere) => (nowhere === lost ? ""
  : `, all ${nowhere ? `but about ${count(nowhere)} ` : ""}of which stand on other pages kept`);
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : NONE);
const spaced = (name) => name.replaceAll("_", " ").replace("duplicate", "copy");

const reasonOf = (page) => data.reasons[pages.reason[page]] ?? "";
const outcomeOf = (page) => data.outcomes[pages.outcome[page]] ?? "confirmed";
const siteOf = (page) => data.sites[pages.site[page]];
const why = (page) => data.sentences[pages.why[page]];

function reasonTag(page) {
  const tag = el("span", { class: `tag ${reasonOf(page)}` }, spaced(reasonOf(page)));
  const outcome = outcomeOf(page);
  if (outcome === "confirmed") return tag;
  return el("span", {}, tag, " ", el("span", { class: "tag gone" }, spaced(outcome)));
}

const pageText = (page) => `${pages.url[page]} ${pages.title[page]}`;

// Filters of a list whose rows stand for pages: *members* are those of a row, *all* those of all rows.
function pageFilters(members, all) {
  const used = (column) => [...new Set(all.map((page) => column[page]))].sort((a, b) => a - b);
  const filter = (name, label, choices, passes) => ({
    name, label, choices,
    passes: (row, value) => members(row).some((page) => passes(page, value)),
  });
  const sites = used(pages.site).map((site) => [data.sites[site], data.sites[site]]);
  const runs = used(pages.run).map((run) => [String(run), `run ${run}`]);
  const reasons = used(pages.reason).filter((reason) => reason !== null)
    .map((reason) => [String(reason), spaced(data.reasons[reason])]);
  return [
    filter("site", "Site", sites, (page, value) => siteOf(page).includes(value)),
    filter("run", "Run", runs, (page, value) => pages.run[page] === Number(value)),
    filter("reason", "Reason", reasons, (page, value) => pages.reason[page] === Number(value)),
  ].filter((one) => one.choices.length > 1);
}

// The cluster that a page is in.
const clusterOf = new Map();
clusters.forEach((members, cluster) => members.forEach((page) => clusterOf.set(page, cluster)));
const canonicalOf = (cluster) => clusters[cluster][0];

const isNear = (page) => pages.near[page] === 1;

