"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { pages, clusters } = data;
  const PER_PAGE = [10, 50, 200, 1000];
  const FEW = 8; // a table of so few rows needs no search
  const count = new Intl.NumberFormat("en").format;
  const byId = (id) => document.getElementById(id);
  const words = (name) => name.replaceAll("_", " ");

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

  // ---- what a page looks like -------------------------------------------------------------

  function address(page) {
    const url = pages.url[page];
    const shown = el("bdi", {}, url || "(no URL)");
    // What was escaped or cut is no address any more.
    if (!/^https?:\/\/[^\s\\…]+$/i.test(url)) return el("span", { class: "url" }, shown);
    return el("a", { class: "url", href: url, rel: "noopener noreferrer", target: "_blank" }, shown);
  }

  function pageCell(page) {
    const title = pages.title[page];
    return el("div", { class: "page" },
      title ? el("span", { class: "title", dir: "auto" }, el("bdi", {}, title)) : "",
      address(page));
  }

  const similarity = (value) => (value < 0 ? "–" : (value / 1000).toFixed(2));
  const bits = (value) => (value < 0 ? "–" : String(value));
  const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "–");

  function reasonTag(page) {
    const reason = data.reasons[pages.reason[page]] ?? "";
    const tag = el("span", { class: `tag ${reason}` }, words(reason));
    const outcome = data.outcomes[pages.outcome[page]];
    if (!outcome || outcome === "confirmed") return tag;
    return el("span", {}, tag, " ", el("span", { class: "tag gone" }, words(outcome)));
  }

  // Why, in words: of a match, given its figures.
  function why(reason, content, structure, alike) {
    const share = `${Math.round(alike / 10)} % of their word runs are common`;
    const apart = content < 0 ? "" : `content differs in ${content} of 64 bits`;
    const shape = structure < 0 ? "" : `, structure in ${structure}`;
    // Without a check of sketches, or where the crawl had another threshold, the rule is not why.
    const isConfirmed = data.rule.share !== null && alike >= 10 * data.rule.share;
    switch (reason) {
      case "exact_duplicate": return "The two have the same bytes.";
      case "canonical_link": return `It names that page as its canonical one (${apart}; ${share}).`;
      case "unchanged": return "An earlier crawl saw it with the same words.";
      case "near_duplicate":
        if (alike === 1000) return `All or nearly all word runs are common; ${apart}${shape}.`;
        return `${share}${isConfirmed ? ` (at least ${data.rule.share} %)` : ""}; ${apart}${shape}.`;
      default: return "";
    }
  }
  const whyPage = (page) =>
    why(data.reasons[pages.reason[page]], pages.content[page], pages.structure[page], pages.similarity[page]);

  function shareCell(part, whole) {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${whole ? Math.max(0.5, (100 * part) / whole) : 0}%`;
    return el("div", { class: "share" }, percent(part, whole), bar);
  }

  // ---- tables: filtered, sorted, a page at a time ----------------------------------------

  function table(host, { caption, noun, columns, rows, text, filters = [], size = 50 }) {
    const state = { found: rows, page: 0, size, sort: null, needle: "" };
    const named = `${host.id}-`;
    const body = el("tbody");
    const status = el("p", { class: "count", role: "status", "aria-live": "polite" });
    const heads = columns.map((column, place) => {
      const label = column.key
        ? el("button", { type: "button", onclick: () => sortBy(place) }, column.name)
        : column.name;
      return el("th", { scope: "col", class: column.number ? "number" : null }, label);
    });
    const lowered = new Map();
    const haystack = (row) => {
      if (!lowered.has(row)) lowered.set(row, text(row).toLowerCase());
      return lowered.get(row);
    };

    function sortBy(place) {
      const again = state.sort && state.sort.place === place;
      const first = columns[place].number ? -1 : 1;
      state.sort = { place, direction: again ? -state.sort.direction : first };
      refresh();
    }

    function refresh() {
      const needles = state.needle.toLowerCase().split(/\s+/).filter(Boolean);
      const active = filters.filter((filter) => filter.value);
      state.found = rows.filter((row) =>
        active.every((filter) => filter.passes(row, filter.value)) &&
        needles.every((needle) => haystack(row).includes(needle)));
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      if (state.sort) {
        const { place, direction } = state.sort;
        const key = columns[place].key;
        const keys = new Map(state.found.map((row) => [row, key(row)]));
        state.found.sort((a, b) => {
          const one = keys.get(a), other = keys.get(b);
          return direction * (one < other ? -1 : one > other ? 1 : 0);
        });
        heads[place].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      }
      state.page = 0;
      draw();
    }

    function draw() {
      const total = state.found.length;
      const last = Math.max(0, Math.ceil(total / state.size) - 1);
      state.page = Math.min(Math.max(state.page, 0), last);
      const from = state.page * state.size;
      const shown = state.found.slice(from, from + state.size);
      body.replaceChildren(...shown.map((row) => el("tr", {}, ...columns.map((column) => {
        const cell = column.cell(row);
        return el(column.head ? "th" : "td", {
          scope: column.head ? "row" : null,
          class: column.number ? "number" : column.kind ?? null,
          "data-name": column.head ? null : column.name,
        }, cell);
      }))));
      const of = total === rows.length ? "" : ` of ${count(rows.length)}`;
      status.textContent = total
        ? `${count(total)}${of} ${noun}, showing ${count(from + 1)} to ${count(from + shown.length)}`
        : `No ${noun}${rows.length ? " match the filters" : ""}`;
      pager.hidden = rows.length <= size;
      where.textContent = `Page ${count(state.page + 1)} of ${count(last + 1)}`;
      first.disabled = back.disabled = state.page === 0;
      next.disabled = end.disabled = state.page === last;
      go.turn = (page) => { state.page = page; draw(); scroll.scrollIntoView({ block: "nearest" }); };
      end.target = last;
    }

    const go = { turn: () => {} };
    const turner = (label, page) =>
      el("button", { type: "button", onclick: () => go.turn(page()) }, label);
    const first = turner("First", () => 0);
    const back = turner("Previous", () => state.page - 1);
    const next = turner("Next", () => state.page + 1);
    const end = turner("Last", () => end.target);
    const where = el("span");
    const sizes = el("select", { onchange: (event) => { state.size = Number(event.target.value); state.page = 0; draw(); } },
      ...PER_PAGE.filter((rows) => rows >= size).map((rows) => el("option", { value: rows }, String(rows))));
    const pager = el("span", { class: "pager" }, first, back, where, next, end,
      el("label", {}, "Rows ", sizes));

    const tools = el("form", { class: "filters", role: "search", "aria-label": caption,
      onsubmit: (event) => event.preventDefault() });
    const isShort = rows.length <= FEW;
    if (text && !isShort) {
      let waiting = 0;
      const search = el("input", { type: "search", id: `${named}search`, placeholder: "words of address or title",
        oninput: (event) => {
          clearTimeout(waiting);
          waiting = setTimeout(() => { state.needle = event.target.value; refresh(); }, 120);
        } });
      tools.append(el("label", { class: "wide" }, "Search", search));
      for (const filter of filters) tools.append(filterField(filter, named, refresh));
    }
    const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...heads)), body));
    if (isShort) status.classList.add("unseen");
    host.replaceChildren(tools.children.length ? tools : "", el("div", { class: "pager" }, status, pager), scroll);
    refresh();
    return { refresh };
  }

  function filterField(filter, named, refresh) {
    const id = `${named}${filter.name}`;
    const changed = (event) => { filter.value = event.target.value.trim(); refresh(); };
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

  // Filters of a list whose rows stand for pages: *members* are those of a row.
  function pageFilters(members, all) {
    const used = (column) => [...new Set(all.map((page) => column[page]))].sort((a, b) => a - b);
    const exists = (row, test) => members(row).some(test);
    const sites = used(pages.site).map((site) => [data.sites[site], data.sites[site]]);
    const runs = used(pages.run).map((run) => [String(run), `run ${run}`]);
    const reasons = used(pages.reason).filter((reason) => reason >= 0)
      .map((reason) => [String(reason), words(data.reasons[reason])]);
    const filters = [
      { name: "site", label: "Site", choices: sites,
        passes: (row, value) => exists(row, (page) => data.sites[pages.site[page]].includes(value)) },
      { name: "run", label: "Run", choices: runs,
        passes: (row, value) => exists(row, (page) => pages.run[page] === Number(value)) },
      { name: "reason", label: "Reason", choices: reasons,
        passes: (row, value) => exists(row, (page) => pages.reason[page] === Number(value)) },
    ];
    return filters.filter((filter) => filter.choices.length > 1);
  }

  const pageText = (page) => `${pages.url[page]} ${pages.title[page]}`;

  // ---- two texts side by side ---------------------------------------------------------------

  const diffOf = (first, second) => data.diffs[`${first}:${second}`];

  function diffView(first, second, label) {
    const view = el("div", { class: "diff card", role: "region", "aria-label": label });
    view.append(el("div", { class: "side head" }, pageCell(first), pageCell(second)));
    let left = el("p", { dir: "auto" }), right = el("p", { dir: "auto" });
    const flush = () => {
      if (left.childNodes.length || right.childNodes.length) view.append(el("div", { class: "side" }, left, right));
      left = el("p", { dir: "auto" });
      right = el("p", { dir: "auto" });
    };
    let length = 0;
    for (const change of diffOf(first, second).changes) {
      if (change[0] === 0) {
        left.append(change[1], " ");
        right.append(change[1], " ");
        length += change[1].length;
        if (change.length > 2) {
          flush();
          view.append(el("p", { class: "same" }, `${count(change[2])} equal words`));
          left.append(change[3], " ");
          right.append(change[3], " ");
          length = 0;
        } else if (length > 500) { flush(); length = 0; }
      } else {
        if (change[1]) left.append(el("del", {}, change[1]), " ");
        if (change[2]) right.append(el("ins", {}, change[2]), " ");
        length += Math.max(change[1].length, change[2].length);
      }
    }
    flush();
    if (diffOf(first, second).cut) view.append(el("p", { class: "same" }, "The texts go on; only their beginnings are compared here."));
    return view;
  }

  // A button that opens the two texts in a row below its own.
  function diffButton(first, second) {
    if (!diffOf(first, second)) return "";
    return el("button", { type: "button", class: "diff-button", "aria-expanded": "false", onclick: (event) => {
      const button = event.currentTarget, row = button.closest("tr");
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      button.textContent = isOpen ? "Compare texts" : "Close";
      if (isOpen) { row.nextSibling.remove(); return; }
      row.after(el("tr", { class: "diff-row" }, el("td", { colspan: row.children.length },
        el("p", { class: "quiet" }, "Left the page that was kept first, right the other one: ",
          el("del", {}, "only left"), ", ", el("ins", {}, "only right"), "."),
        diffView(first, second, "Texts side by side"))));
    } }, "Compare texts");
  }

  // ---- the parts ---------------------------------------------------------------------------

  function overview() {
    const ofOthers = (row) => row.elsewhere
      ? el("span", {}, count(row.elsewhere), row.other === null ? "" : el("span", { class: "quiet" }, " (most: ", el("bdi", {}, row.other), ")"))
      : "0";
    const shares = (name, cell, number) => [
      { name, head: true, key: (row) => (number ? Number(row.name) : row.name), cell },
      { name: "Pages seen", number: true, key: (row) => row.pages, cell: (row) => count(row.pages) },
      { name: "Copies", number: true, key: (row) => row.copies, cell: (row) => count(row.copies) },
      { name: "Share", key: (row) => row.copies / row.pages, cell: (row) => shareCell(row.copies, row.pages) },
    ];
    table(byId("sites-table"), {
      caption: "Pages seen and copies by site", noun: "sites", size: 10, rows: data.by_site, text: (row) => row.name,
      columns: [...shares("Site", (row) => el("bdi", {}, row.name), false),
        { name: "Copies of pages of other sites", key: (row) => row.elsewhere, cell: ofOthers }],
    });
    table(byId("runs-table"), {
      caption: "Pages seen and copies by run", noun: "runs", size: 10, rows: data.by_run,
      columns: [...shares("Run", (row) => row.name, true),
        { name: "Copies of pages of other runs", key: (row) => row.elsewhere, cell: ofOthers },
        { name: "Spider", cell: (row) => el("bdi", {}, row.spider) },
        { name: "Started (UTC)", cell: (row) => row.started },
        { name: "Ended", cell: (row) => el("bdi", {}, row.ending) },
        { name: "Copies were", cell: (row) => row.action }],
    });
    const all = data.by_reason.reduce((sum, row) => sum + row.pages, 0);
    table(byId("reasons-table"), {
      caption: "Pages by reason of their verdict", noun: "reasons", rows: data.by_reason,
      columns: [
        { name: "Reason", head: true, cell: (row) => words(row.name) },
        { name: "Pages", number: true, key: (row) => row.pages, cell: (row) => count(row.pages) },
        { name: "Share", key: (row) => row.pages, cell: (row) => shareCell(row.pages, all) },
        { name: "What it means", cell: (row) => row.meaning },
      ],
    });
  }

  const clusterRows = clusters.members.map((_, cluster) => cluster);
  const canonicalOf = (cluster) => clusters.members[cluster][0];
  const clusterOf = new Map();
  for (const cluster of clusterRows) for (const page of clusters.members[cluster]) clusterOf.set(page, cluster);
  const clusterLink = (page, label) => clusterOf.has(page)
    ? el("a", { href: `#cluster/${clusterOf.get(page) + 1}` }, label(clusterOf.get(page) + 1)) : "–";

  function clusterList() {
    const members = (cluster) => clusters.members[cluster];
    table(byId("clusters-table"), {
      caption: "Clusters, the largest first", noun: "clusters", rows: clusterRows,
      text: (cluster) => members(cluster).slice(0, 200).map(pageText).join(" "),
      filters: pageFilters(members, clusters.members.flat()),
      columns: [
        { name: "Cluster", head: true, key: (cluster) => cluster, cell: (cluster) => clusterLink(canonicalOf(cluster), (number) => `Cluster ${number}`) },
        { name: "Page kept", key: (cluster) => pages.url[canonicalOf(cluster)], cell: (cluster) => pageCell(canonicalOf(cluster)) },
        { name: "Copies", number: true, key: (cluster) => clusters.size[cluster], cell: (cluster) => count(clusters.size[cluster]) },
        { name: "Least alike", number: true, key: (cluster) => clusters.least[cluster], cell: (cluster) => similarity(clusters.least[cluster]) },
        { name: "Sites", number: true, key: (cluster) => siteCount(cluster), cell: (cluster) => count(siteCount(cluster)) },
      ],
    });
  }
  const siteCount = (cluster) => new Set(clusters.members[cluster].map((page) => pages.site[page])).size;

  function clusterPage(cluster) {
    const [canonical, ...copies] = clusters.members[cluster];
    const [one, other] = clusters.pair[cluster];
    byId("cluster-title").textContent = `Cluster ${cluster + 1}: ${count(clusters.size[cluster])} ${clusters.size[cluster] === 1 ? "copy" : "copies"}`;
    const facts = el("dl", { class: "facts" },
      el("dt", {}, "Page kept"), el("dd", {}, pageCell(canonical)),
      el("dt", {}, "Seen in"), el("dd", {}, `run ${pages.run[canonical]}, ${pages.time[canonical]} UTC; ${count(pages.tokens[canonical])} words`),
      el("dt", {}, "Least alike"),
      el("dd", {}, `${similarity(clusters.least[cluster])}, between`, pageCell(one), "and", pageCell(other)));
    if (clusters.best.length && clusters.best[cluster] !== canonical) {
      facts.append(el("dt", {}, `Best by ${data.keep}`), el("dd", {}, pageCell(clusters.best[cluster])));
    }
    const notes = [];
    if (clusters.size[cluster] > copies.length) notes.push(`Only the first ${count(copies.length)} copies are in this file.`);
    if (copies.length + 1 > data.compared) notes.push(`“Least alike” is of the first ${data.compared} pages.`);
    const host = el("div", { id: "members" });
    byId("cluster-body").replaceChildren(facts, ...notes.map((note) => el("p", { class: "quiet" }, note)), host);
    table(host, {
      caption: "Its copies, and why each is one", noun: "copies", rows: copies, text: pageText,
      filters: pageFilters((page) => [page], copies),
      columns: [
        { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
        { name: "Why", kind: "why", key: (page) => pages.reason[page], cell: (page) => el("div", {}, reasonTag(page), el("div", {}, whyPage(page))) },
        ...figures,
        { name: "Texts", cell: (page) => diffButton(canonical, page) },
      ],
    });
  }

  const figures = [
    { name: "Similarity", number: true, key: (page) => pages.similarity[page], cell: (page) => similarity(pages.similarity[page]) },
    { name: "Content bits", number: true, key: (page) => pages.content[page], cell: (page) => bits(pages.content[page]) },
    { name: "Structure bits", number: true, key: (page) => pages.structure[page], cell: (page) => bits(pages.structure[page]) },
    { name: "Words", number: true, key: (page) => pages.tokens[page], cell: (page) => count(pages.tokens[page]) },
    { name: "Run", number: true, key: (page) => pages.run[page], cell: (page) => String(pages.run[page]) },
  ];

  function copyList() {
    const copies = clusters.members.flatMap((members) => members.slice(1));
    table(byId("copies-table"), {
      caption: "Copies, those of the largest clusters first", noun: "copies", rows: copies, text: pageText,
      filters: pageFilters((page) => [page], copies),
      columns: [
        { name: "Copy", head: true, key: (page) => pages.url[page], cell: pageCell },
        { name: "Of the page kept", cell: (page) => pageCell(canonicalOf(clusterOf.get(page))) },
        { name: "Reason", key: (page) => pages.reason[page], cell: reasonTag },
        ...figures,
        { name: "Cluster", number: true, key: (page) => clusterOf.get(page), cell: (page) => clusterLink(page, (number) => `Cluster ${number}`) },
      ],
    });
  }

  function pairList(id, caption, pairs) {
    table(byId(id), {
      caption, noun: "pairs", rows: pairs, text: (pair) => `${pageText(pair.first)} ${pageText(pair.second)}`,
      columns: [
        { name: "Seen first", cell: (pair) => pageCell(pair.first) },
        { name: "Seen later", cell: (pair) => pageCell(pair.second) },
        { name: "Similarity", number: true, key: (pair) => pair.similarity, cell: (pair) => similarity(pair.similarity) },
        { name: "Content bits", number: true, key: (pair) => pair.content, cell: (pair) => bits(pair.content) },
        { name: "Structure bits", number: true, key: (pair) => pair.structure, cell: (pair) => bits(pair.structure) },
        { name: "Texts", cell: (pair) => diffButton(pair.first, pair.second) },
      ],
    });
  }

  function templateList() {
    table(byId("templates-table"), {
      caption: "Templates, the most used first", noun: "templates", rows: data.templates,
      text: (template) => template.examples.map(pageText).join(" "),
      columns: [
        { name: "Pages", number: true, key: (template) => template.pages, cell: (template) => count(template.pages) },
        { name: "Copies among them", key: (template) => template.copies / template.pages, cell: (template) => shareCell(template.copies, template.pages) },
        { name: "Different structures", number: true, key: (template) => template.words, cell: (template) => count(template.words) },
        { name: "Sites", number: true, key: (template) => template.sites, cell: (template) => count(template.sites) },
        { name: "First seen on", cell: (template) => el("div", {}, ...template.examples.map(pageCell)) },
      ],
    });
  }

  // ---- moving about ------------------------------------------------------------------------

  function show(moves) {
    const [name, number] = location.hash.slice(1).split("/");
    if (name === "content") return;
    const cluster = Number(number) - 1;
    const isCluster = name === "cluster" && cluster in clusters.members;
    const open = isCluster ? "cluster" : document.querySelector(`section.view#${CSS.escape(name || "overview")}`) && name !== "cluster" ? name || "overview" : "overview";
    if (isCluster) clusterPage(cluster);
    for (const view of document.querySelectorAll("section.view")) view.hidden = view.id !== open;
    for (const link of document.querySelectorAll("nav a")) {
      const current = link.hash === `#${open}` || (isCluster && link.hash === "#clusters");
      if (current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (moves) {
      byId(`${open}-title`).focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }

  function themes() {
    const button = byId("theme"), root = document.documentElement;
    const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const name = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
    try { const kept = localStorage.getItem("theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch { /* no storage for files */ }
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* as above */ }
      name();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    name();
  }

  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    const search = document.querySelector("section.view:not([hidden]) input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  });

  themes();
  overview();
  clusterList();
  copyList();
  pairList("inside-table", "Copies that just passed, the nearest to the edge first", data.inside);
  pairList("outside-table", "Pages kept that almost were copies, the nearest to the edge first", data.outside);
  templateList();
  show(false);
  addEventListener("hashchange", () => show(true));
})();
