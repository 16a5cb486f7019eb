"""What a crawl has changed: a record for each page that came, changed or went, and counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from math import inf
from typing import Any

from dedup.index import Index, Row
from dedup.index.notes import REMOVED, answers, last_seen
from dedup.index.rows import IN_FORCE, LAST_RUN, OF_URL, numbers, of_dry_runs
from dedup.model.errors import counted, printable, printable_url
from dedup.model.urls import MAX_URL
from dedup.model.verdict import DRY_RUN, UNDONE, Glance, Outcome, Reason, Visit, crawl_of
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading.tokens import tokens
from dedup.report.explanation import Again
from dedup.rule.match import match

CHANGES = ("added", "changed", "removed")  # see `docs/reference/changes.schema.json`
_LISTED, _COUNTS_FROM = 3, 5  # addresses of a group; what came or went on so many pages is a counter
_MOST_READ = 1_000  # pages whose texts are compared for the log
_MANY = 20  # pages; if most have changed, what stands beside them all may have
_ONLY_NOISE = "only in what is left out by now"
_BESIDE = ". Most pages changed: perhaps only a counter or a list on them did; name it in DEDUP_IGNORE"
_DIGITS, _LONGEST_NAME = re.compile(r"[0-9]+"), 60
_PASSAGES = 5  # of a page that has changed, for people
_LONGEST = 300  # characters of each
_CONFIG = DedupConfig()
Change = dict[str, Any]


class Changes:
    """What the crawl of *run* has changed: a record of each page by what it showed at last, then counts.

    The texts of at most *most_read* pages are read for what changed inside.  *gone* are answers by
    address and run, *missed* addresses, or keys, of pages of the last crawl that were not met.
    """

    def __init__(self, index: Index, run: int, *, most_read: float = inf) -> None:
        self.index, self.run, self.most_read = index, run, most_read
        runs = index.runs.all()
        self.crawl = crawl_of(run, runs)
        self.runs = [one for one in runs if one.id in self.crawl]
        self.gone = answers(index.store)
        self.is_partial = any(one.ending != "finished" for one in self.runs)
        spider, first = self.runs[0].spider, min(self.crawl)
        own = (one for one in reversed(runs) if one.spider == spider and one.action != DRY_RUN)
        self.since = next((one for one in own if one.id < first), None)
        self.counts, self.missed, self.again = Counter[str](), list[str](), Again(index, _CONFIG)

    def __iter__(self) -> Iterator[Change]:
        removed = (self._of_removed(key, found) for key, found in self.gone.items())
        for record in filter(None, chain(map(self._of_page, self._last_rows()), removed)):
            self.counts[record["change"]] += 1
            self.counts["noise"] += _is_noise(record)
            yield record
        yield {
            "change": "summary",
            "run": self.run,
            "since": _moment(self.since.started) if self.since else None,
            "partial": self.is_partial,
            **{name: self.counts[name] for name in (*CHANGES, "unchanged", "copies")},
        }

    def summary(self) -> str:
        """Return the counts in a line, when all records were made, and where most pages have changed."""
        counts = self.counts
        if self.since is None:
            return f"{counts['added']:,} added: there was no crawl before"
        notes = [counted(counts["copy_of"], "copy now", "copies now")] * bool(counts["copy_of"])
        notes += [f"{counts['noise']:,} {_ONLY_NOISE}"] * bool(counts["noise"])
        of_them = f" (of them {', '.join(notes)})" * bool(notes)
        missed = max(0, len(self.missed) - counts["removed"])
        told = f", {counts['removed']:,} removed" * bool(counts["removed"])
        told += f", {counts['unchanged']:,} unchanged" + f", {missed:,} not met again" * bool(missed)
        since = datetime.fromtimestamp(self.since.started, UTC)
        said = f"since run {self.since.id}, {since:%d %b}: {counts['added']:,} added, "
        said += f"{counts['changed']:,} changed{of_them}{told}"
        is_most = counts["changed"] >= max(_MANY, counts["unchanged"])
        return said + " (partial: the crawl did not end)" * self.is_partial + _BESIDE * is_most

    def _last_rows(self) -> Iterator[Row]:
        """Yield the last row of each page that may have changed, and count those that have not."""
        visits = [visit.after for visit in self.index.store.select(Visit) if visit.run in self.crawl]
        after, unchanged, copies = min(visits, default=0), set[int](), set[int]()
        last, own, met = dict[int, int](), dict[int | None, int](), set[int]()
        for glance in self.index.store.glances(after):
            if glance.run not in self.crawl:
                continue
            met.add(page := _page_of(glance))
            if glance.outcome in (Outcome.PENDING, *UNDONE):
                continue
            if glance.lost == 0 and own.get(glance.canonical) == page:
                continue  # met twice, as a start page is
            own[glance.id] = page
            # What has come back is compared with nothing.
            is_back = glance.kept and (glance.similarity is None or glance.url_key in self.gone)
            if is_back or glance.reason not in (Reason.UNCHANGED, Reason.NOT_JUDGED):
                last[page] = glance.id
            elif (glance.canonical or 0) <= after:
                is_copy = not glance.kept and glance.canonical != glance.previous
                (copies if is_copy else unchanged).add(hash((glance.url, glance.canonical)))
        self.counts.update(unchanged=len(unchanged), copies=len(copies))
        if self.since and not self.is_partial:
            before = self.index.store.glances(run=self.since.id)
            names = {_page_of(glance): glance.url or glance.item_key for glance in before}
            self.missed = [name for page, name in names.items() if page not in met]
        yield from self.index.rows_of(sorted(last.values()))

    def _before(self, row: Row) -> Row | None:
        """Return what an earlier crawl saw at the same address, or of the same key, at last."""
        seen = row.sighting
        if row.verdict.previous and row.verdict.reason is Reason.UPDATED:
            before = self.index.row(row.verdict.previous)
            if before.sighting.run not in self.crawl:
                return before
        column, value = seen.identity
        same = f"p.scope = ? AND p.{column} = ?" + (f" AND p.{column} != ''" if seen.is_named else "")
        others = f"p.run NOT IN {numbers(self.crawl)} AND p.run < ?"
        earlier = f"{same} AND {IN_FORCE} AND {of_dry_runs(())} AND {others}"
        store, scope = self.index.store, self.index.store.scope((seen.kind, seen.scope))
        return next(store.rows(earlier, scope, value, seen.run, order=LAST_RUN, limit=1), None)

    def _of_page(self, row: Row) -> Change | None:
        before, verdict = self._before(row), row.verdict
        is_same = before is None or before.as_version(before).shows(row.sighting.fingerprint)
        is_own = before is not None and before.is_own
        if not is_same and (verdict.kept or is_own):
            self.counts["copy_of"] += not verdict.kept
            changed = self._record("changed", row, before)
            return changed if verdict.kept else changed | {"copy_of": verdict.canonical_url}
        if verdict.kept:
            # An address that was gone before this crawl has a page that is new.
            seen, first = (before or row).sighting, min(self.crawl)
            was_gone = any(seen.run < run < first for run in self.gone.get(seen.url_key, ()))
            # What was dropped for a page, and is kept in place of it, was delivered before.
            other = self.index.row(verdict.represents).sighting if verdict.represents else None
            was_there = is_own or (other is not None and other.url_key not in self.gone)
            if before is None or was_gone or not was_there:
                return self._record("added", row, None)
        self.counts["unchanged" if verdict.kept else "copies"] += 1
        return None

    def _of_removed(self, key: str, answered: dict[int, int]) -> Change | None:
        statuses = {answered[run] for run in self.crawl if run in answered}
        met = f"{OF_URL} AND p.run IN {numbers(self.crawl)} AND {IN_FORCE}"
        if not statuses or next(self.index.store.rows(met, key, order="+p.id", limit=1), None):
            return None
        last = last_seen(self.index.store, key, self.runs[0].spider, self.crawl)
        is_gone = last is not None and (statuses & REMOVED or self._stands_elsewhere(last))
        return self._record("removed", last, None) if last and is_gone and last.is_own else None

    def _stands_elsewhere(self, row: Row) -> bool:
        """Return whether this crawl has met the text of *row*: a redirect may also lead to a login."""
        seen, page = row.sighting, row.sighting.fingerprint
        same = f"p.scope = ? AND p.token_digest = ? AND p.run IN {numbers(self.crawl)} AND {IN_FORCE}"
        scope = self.index.store.scope((seen.kind, seen.scope))
        found = self.index.store.rows(same, scope, page.token_digest, limit=1)
        return page.tokens > 0 and next(found, None) is not None

    def _record(self, change: str, row: Row, before: Row | None) -> Change:
        seen = row.sighting
        record: Change = {"change": change, "url": seen.url, "key": seen.item_key, "title": seen.title}
        record |= {"run": seen.run, "time": _moment(seen.time), "words": seen.fingerprint.words}
        if before is None or self.counts["changed"] >= self.most_read:
            return record
        return record | self._inside(before, row)

    def _inside(self, before: Row, row: Row) -> Change:
        """Return what came and went, the title too, None if texts are not stored; and how many words."""
        old, new = (self.again.page_of(one.id) for one in (before, row))
        if old is None or new is None:
            one, other = before.sighting.fingerprint, row.sighting.fingerprint
            came, went = (match(*pair, _CONFIG).lost or 0 for pair in ((one, other), (other, one)))
            return {"came": None, "went": None, "words_came": came, "words_went": went}
        texts = [f"{page.title}\n{page.text}" for page in (old, new)]
        lines = ((" ".join(line.split()) for line in text.splitlines()) for text in texts)
        blocks = [Counter(filter(None, some)) for some in lines]
        words, inside = [Counter(tokens(text)) for text in texts], Change()
        for name, now, then in ("came", 1, 0), ("went", 0, 1):
            inside[name] = list((blocks[now] - blocks[then]).elements())
            inside[f"words_{name}"] = (words[now] - words[then]).total()
        return inside

    def told(self) -> Iterator[str]:
        """Yield what has changed for people, then pages by what many changed in, and the counts."""
        *found, _ = self
        said = [{_DIGITS.sub("#", one) for _, one in _passages(record)} for record in found]
        on, groups = Counter(chain(*said)), defaultdict[str, list[str]](list)
        for record, lines in zip(found, said, strict=True):
            name = _ONLY_NOISE * _is_noise(record)
            if lines and min(on[line] for line in lines) >= _COUNTS_FROM:
                name = f"only in “{printable(max(sorted(lines), key=on.__getitem__), _LONGEST_NAME)}”"
            if name:
                groups[name].append(_shown(record))
            else:
                yield from _lines(record)
        for name, pages in sorted(groups.items(), key=lambda one: -len(one[1])):
            yield _listed(f"changed {name}", pages)
        gone = {record["url"] for record in found}
        if missed := [printable_url(one, MAX_URL) for one in self.missed if one not in gone]:
            yield _listed("not met again", missed)
        yield self.summary()


def _lines(record: Change) -> Iterator[str]:
    """Yield what a record says of a page, for people."""
    line = f"{record['change']:<9} {_shown(record)}"
    if "copy_of" in record:
        line += f", now a copy of {printable_url(record['copy_of'], MAX_URL)}"
    if "came" in record:
        line += f" (+{record['words_came']:,} -{record['words_went']:,} words)"
    yield line
    yield from (f"  {sign} {printable(one, _LONGEST)}" for sign, one in _passages(record, _PASSAGES))


def _listed(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" * (len(names) > _LISTED)
    return f"{counted(len(names), 'page')} {what}: {', '.join(names[:_LISTED])}{more}"


def _passages(record: Change, most: int | None = None) -> Iterator[tuple[str, str]]:
    for name, sign in (("went", "-"), ("came", "+")):
        yield from ((sign, passage) for passage in (record.get(name) or ())[:most])


def _shown(record: Change) -> str:
    return printable_url(record["url"], MAX_URL) if record["url"] else printable(record["key"])


def _page_of(glance: Glance) -> int:
    return hash((glance.scope, glance.item_key or glance.url_key or glance.id))


def _is_noise(record: Change) -> bool:
    return record["change"] == "changed" and record.get("came") == record.get("went") == []


def in_a_line(index: Index, run: int) -> str:
    """Return what `Changes` say of a crawl in a line, "" for a first one."""
    changes = Changes(index, run, most_read=_MOST_READ)
    if changes.since is None:
        return ""
    deque(changes, maxlen=0)
    return f"{changes.summary()} (dedup report --changes tells each)"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()
