"""What a crawl tells: its stats, all of them below ``dedup/``, and its warnings, each once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from time import thread_time
from typing import Any, ParamSpec, TypeVar

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.statscollectors import StatsCollector

from dedup.index import Index
from dedup.model.errors import IndexUnavailable
from dedup.model.hashes import murmur3
from dedup.model.limits import EXCESSES, Excess
from dedup.model.printable import printable
from dedup.model.row import Statistics
from dedup.model.urls import host_of, with_or_without_www
from dedup.model.verdict import Reason, Verdict
from dedup.reading.fields import long_texts, plain_text, single, texts_of
from dedup.reading.page import Page
from dedup.report.counts import counted
from dedup.report.losses import MAX_FIELD_ROWS, MAX_PAIRS, losses_of
from dedup.rule.keys import MAX_CANDIDATES
from dedup.rule.loss import FEW_WORDS, loses
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")

_LONGEST_NAME = 80


class DuplicatePage(DropItem):
    """The item repeats one that was kept; *verdict* names it.

    The pipeline logs a line of its own, so Scrapy, which logs the whole item, is to log none.
    """

    def __init__(self, url: str, verdict: Verdict, name: str = "") -> None:
        super().__init__(url, log_level="NOTSET")
        self.url, self.verdict, self.name = url, verdict, name

    def __str__(self) -> str:
        return explained(self.url, self.verdict, self.name)  # most logs leave it out


def explained(url: str, verdict: Verdict, name: str = "") -> str:
    """Return one line on a dropped page: URL, reason, canonical, loss, distances in bits, similarity.

    *name* stands for an item without URL: its key, or its first line.
    """
    similarity = "-" if verdict.similarity is None else f"{verdict.similarity:.2f}"
    is_measured = verdict.lost is not None and verdict.reason is not Reason.UNCHANGED
    lost = f": loses {loses(verdict.lost, verdict.words)}" if is_measured else ""
    content, structure = (
        "-" if distance is None else str(distance)
        for distance in (verdict.content_distance, verdict.structure_distance)
    )
    return (
        f"{verdict.reason}: {_shown(url, name)} repeats {_shown(verdict.canonical_url)}{lost} "
        f"(content distance {content}, structure distance {structure}, similarity {similarity})"
    )


def _shown(url: str, name: str = "") -> str:
    name = printable(name, _LONGEST_NAME)
    if url:
        return f"<{printable(url)}>" + (f" {name}" if name else "")
    return f'"{name}"' if name else "an item without URL"


# A count is among Scrapy's stats after so many seconds at the latest.
WRITTEN_AFTER = 1.0


class CrawlStats:
    """The counts of *crawler*, which has a stats collector when its crawl begins.

    They are added up here, because a page has a dozen of them and a call of Scrapy's collector costs a
    microsecond or two.  The collector gets them a second after the first new one, and the rest at the
    end.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._added: dict[str, float] = {}
        self._most_candidates: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _stats(self) -> StatsCollector:
        assert self._crawler.stats is not None
        return self._crawler.stats

    def add(self, name: str, by: float = 1) -> None:
        """Add *by* to the stat *name*."""
        self._added[name] = self._added.get(name, 0) + by
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITTEN_AFTER, self.write)

    def timed(self, step: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what *call* returns; add the processor seconds that it takes to the stat of *step*."""
        begin = thread_time()
        try:
            return call(*args, **kwargs)
        finally:
            self.add(f"seconds/{step}", thread_time() - begin)

    def lookup(self, verdict: Verdict) -> None:
        """Count a question to the index and how many candidates it looked at."""
        self._most_candidates = max(self._most_candidates or 0, verdict.candidates)
        self.add("candidates", verdict.candidates)
        self.add("lookups")

    def write(self) -> None:
        """Let the stats of Scrapy have everything that was counted up to now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        added, self._added = self._added, {}
        for name, by in added.items():
            number: Any = by  # Scrapy annotates counts as whole numbers
            self._stats.inc_value(f"dedup/{name}", number)
        if self._most_candidates is not None:
            self._stats.max_value("dedup/candidates_max", self._most_candidates)
            self._most_candidates = None

    def index(self, statistics: Statistics) -> None:
        """Set what the index holds at the end, and the seconds of all."""
        self.write()
        get = self._stats.get_value
        steps = ("parse", "fingerprint", "index")
        seconds = sum(get(f"dedup/seconds/{step}", 0) for step in steps)
        self._stats.set_value("dedup/index/rows", statistics.rows)
        self._stats.set_value("dedup/index/bytes", statistics.bytes)
        self._stats.set_value("dedup/index/orphans", statistics.orphans)
        self._stats.set_value("dedup/seconds", round(seconds, 6))

    def own(self) -> dict[str, int]:
        """Return all counts, by their names without ``dedup/``."""
        self.write()
        stats: dict[str, Any] = self._stats.get_stats()
        ours = (name for name in stats if name.startswith("dedup/"))
        return {name.removeprefix("dedup/"): stats[name] for name in ours}


# Hosts that are not visited and have the pages that others repeat; more are not counted.
_MOST_HOSTS = 1000
# So many copies that lose words are remembered.
_MOST_LOSING = 100_000


class Notices:
    """The warnings of one crawl."""

    def __init__(self, settings: DedupSettings, counts: CrawlStats) -> None:
        self._settings, self._counts = settings, counts
        self._given: set[str] = set()
        self._elsewhere: Counter[str] = Counter()
        # Copies that lose words: about how many, the row kept, and their own.
        self._losing: list[tuple[int, int, int]] = []
        self._others: list[tuple[int, int]] = []

    def over_limit(self, url: str, excess: Excess) -> None:
        """Warn of a page that is not read because of *excess*."""
        self._counts.add(f"over_limit/{excess}")
        self._warn_once(
            excess,
            "<%s> has %s: such pages are not read, and kept unless all their bytes are those of another "
            "one; dedup/over_limit/%s counts them",
            *(printable(url), EXCESSES[excess], excess),
        )

    def capped(self, url: str) -> None:
        """Warn of a page with more candidates than may be looked at."""
        self._counts.add("candidates_capped")
        self._warn_once(
            "cap",
            "<%s> is near more than %d pages; only the nearest were looked at, here and wherever "
            "dedup/candidates_capped counts it",
            *(printable(url), MAX_CANDIDATES),
        )

    def failed(self, error: Exception) -> None:
        """Report an error of the index; one that is no fault of ours needs no traceback."""
        self._counts.add("index_errors")
        said = str(error) or repr(error)
        if said not in self._given:
            trace = None if isinstance(error, IndexUnavailable) else error
            logger.error("Pages are kept without being judged: %s", said, exc_info=trace)
        self._given.add(said)

    def _warn_once(self, what: str, text: str, *said: object) -> None:
        if what not in self._given:
            logger.warning(text, *said)
        self._given.add(what)

    def judged(self, verdict: Verdict) -> None:
        """Count a copy that may have a text of its own, and one for a page of a host not visited."""
        if not verdict.repeats_another:
            return
        if verdict.nowhere and len(self._losing) < _MOST_LOSING:
            self._losing.append((verdict.nowhere, verdict.canonical or 0, verdict.row or 0))
        if (verdict.nowhere or 0) > FEW_WORDS:
            self._counts.add("doubtful")
        if not verdict.canonical_was_met and len(self._elsewhere) < _MOST_HOSTS:
            self._elsewhere[host_of(verdict.canonical_url)] += 1

    def other_fields(self, verdict: Verdict) -> None:
        """Note a copy with other values in fields that were not judged than the page kept has."""
        if verdict.canonical and verdict.row and len(self._others) < MAX_FIELD_ROWS:
            self._others.append((verdict.canonical, verdict.row))

    def losses(self, index: Index, rows: Callable[[Iterable[int]], list[int]]) -> Iterator[str]:
        """Yield what was lost with copies: records, how many words, those of the worst, other fields.

        *rows* gives the rows of *index* that rows of the crawl are.
        """
        pairs = ((about, rows(pair)) for about, *pair in self._losing)
        worst = sorted(((about, *pair) for about, pair in pairs if len(pair) == 2), reverse=True)
        others = [(pair[0], pair[1]) for pair in map(rows, self._others) if len(pair) == 2]
        compared = [(kept, copy) for _, kept, copy in worst[:MAX_PAIRS]]
        found = losses_of(index, compared, others, self._settings.config.exceptions)
        lost = {row: found.texts[row].lost if row in found.texts else about for about, _, row in worst}
        texts = (place for place in found.places if place.examples)
        records = [place for place in texts if place.is_record and not place.says]
        if copies := {row for place in records for row in place.copies}:
            differ = counted(len(copies), "copy differs", "copies differ")
            yield (
                f"RECORDS MAY HAVE BEEN MERGED: {differ} in numbers, codes or names, most at "
                f"{printable(records[0].shown)}; decide about them with: dedup report --serve"
            )
        if losing := sorted((row for row in lost if lost[row]), key=lambda row: lost[row]):
            words = found.words(losing[-1], _LONGEST_NAME)
            url = next(index.rows_of([losing[-1]])).sighting.url
            fewest, most = lost[losing[0]], lost[losing[-1]]
            about = "" if len(found.texts) == len(worst) else "about "
            yield (
                f"{counted(len(losing), 'copy loses', 'copies lose')} {about}"
                f"{f'{fewest:,} to ' * (fewest < most)}{counted(most, 'word')}, most: {printable(url)}"
                f"{f' ({words})' if words else ''}"
            )
        for place in found.places:
            if place.advice:
                yield f"copies differ in other fields, as {place}"

    def elsewhere(self, visited: Collection[str]) -> Mapping[str, int]:
        """Return for how many copies pages of each host stand that is none of those *visited*."""
        known = {name for host in visited for name in with_or_without_www(host)}
        return {host: count for host, count in self._elsewhere.most_common() if host not in known}


_MOST_NAMES = 12
# That so many items all have keys of their own is no coincidence; `_MOST_KEYS` are remembered at most.
MIN_KEYS, _MOST_KEYS = 20, 10_000
_TEXT_FIELDS, _KEY_FIELDS = "DEDUP_TEXT_FIELDS", "DEDUP_KEY_FIELDS"
_NO_HTML = "the items hold no whole pages, and no fields were named (DEDUP_TEXT_FIELDS)"


class RecordNotice:
    """Warns, once each, of items that are records and of named fields that no item has.

    At the end of a crawl come the warnings of `closing`, and the `reason` why nothing was judged.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self.before = ""
        """The pipelines before ours, for the log."""
        self._settings = settings
        self._reasons: Counter[str] = Counter()
        texts = () if settings.source == "response" else settings.text_fields
        named = {_TEXT_FIELDS: texts, _KEY_FIELDS: settings.key_fields}
        # The fields that each setting names, and those of them that no item has had so far.
        self._named = {setting: names for setting, names in named.items() if names}
        self._never_found = dict.fromkeys(name for names in self._named.values() for name in names)
        self._has_missed: set[str] = set()
        self._keys: set[int] | None = set() if settings.key_fields else None
        self._items = 0

    def note(self, record: Mapping[str, Any], response: Response | None) -> None:
        """Warn about *record*, an item of *response* that holds no page, the first time."""
        self._reasons[_NO_HTML] += 1
        if self._reasons[_NO_HTML] == 1:
            comes_again = self._settings.config.unchanged == "drop"
            of_page = isinstance(response, HtmlResponse)
            logger.warning("%s", advice(record, comes_again=comes_again, of_page=of_page))

    def unjudged(self, *, is_exempt: bool) -> None:
        """Note an item that is exempt, or that could not be read."""
        exempt, failed = "all requests are exempt (meta dedup=False)", "all items failed to be read"
        self._reasons[exempt if is_exempt else f"{failed}, see above"] += 1

    def seen(self, item: Any, page: Page | None) -> None:
        """Note which of the named fields *item* has, and whether its key is its own."""
        self._items += 1
        if page is None and not self._settings.text_fields:
            self._reasons["dedup_page_from_item gave no pages"] += 1
        if (self._never_found or page is None) and ItemAdapter.is_item(item):
            self._look(ItemAdapter(item))
        if self._keys is not None and page is not None:
            number = murmur3(page.item_key)
            if not page.item_key or number in self._keys:
                self._keys = None  # not unique: nothing is to be said
            elif len(self._keys) < _MOST_KEYS:
                self._keys.add(number)

    def _look(self, record: Mapping[str, Any]) -> None:
        for setting, names in self._named.items():
            found = [name for name in names if any(texts_of(record.get(name)))]
            for name in found:
                self._never_found.pop(name, None)
            if not found and setting == _TEXT_FIELDS:
                self._reasons[f"no item has a field that {setting} names"] += 1
            if not found and setting not in self._has_missed:
                self._has_missed.add(setting)
                logger.warning("%s", missing(record, setting, names, self.before))

    def reason(self) -> str:
        """Return why nothing was judged, if that is so."""
        return next((why for why, _ in self._reasons.most_common(1)), "there is nothing in the pages")

    def closing(self) -> list[str]:
        """Return the warnings about named fields, now that all items were seen."""
        said = []
        if self._keys is not None and len(self._keys) >= MIN_KEYS:
            keys = ", ".join(map(printable, self._settings.key_fields))
            said.append(
                f"DEDUP_KEY_FIELDS ({keys}) was different in each of {self._items:,} items: items with "
                "different keys are never compared, so no copy could be found in this crawl. That is "
                "right for records, which the key tells apart; for articles leave the setting out"
            )
        for setting, names in self._named.items():
            never = [name for name in names if name in self._never_found]
            if never and self._items and setting not in self._has_missed:
                said.append(f"{setting} names {_listed(never)}, which no item had")
        return said


def missing(record: Mapping[str, Any], setting: str, names: tuple[str, ...], before: str) -> str:
    """Return the warning that *record* has nothing in the fields *names* of a *setting*.

    >>> print(missing({"title": "Sea"}, "DEDUP_TEXT_FIELDS", ("txet",), ", after Cleaning"))
    An item has nothing in the fields that DEDUP_TEXT_FIELDS names, ["txet"]: it is kept and not \
judged, and so are all others like it. Its fields are title, after Cleaning; is a name misspelt, or \
does a pipeline before ours empty the field?
    """
    unkeyed, unread = "nothing tells it from items with a like text", "it is kept and not judged"
    return (
        f"An item has nothing in the fields that {setting} names, {_listed(names)}: "
        f"{unkeyed if setting == _KEY_FIELDS else unread}, and so are all others like it. "
        f"Its fields are {_names(record)}{before}; "
        "is a name misspelt, or does a pipeline before ours empty the field?"
    )


def advice(record: Mapping[str, Any], *, comes_again: bool, of_page: bool = False) -> str:
    """Return the warning about *record*, an item that holds no page.

    *comes_again* says that unchanged pages are dropped, though such items are not; *of_page* says that
    it was made from an HTML response.  No field is proposed as a key: a key that is different in every
    item would switch deduplication off, and one item does not tell whether it is.

    >>> print(advice({"id": 7, "title": "Sea", "text": "The tide. " * 30}, comes_again=False))
    An item holds no whole page (its fields are id, title, text): it is kept and not judged, and so are \
all others like it. Leave records alone: a price or a date makes two of them different. If these are \
articles, judge them with DEDUP_TEXT_FIELDS = ["title", "text"]
    """
    every = " DEDUP_UNCHANGED = 'drop' does not apply to them: they come in every crawl."
    record = {name: single(value) for name, value in record.items()}
    fields = _text_fields(record)
    named = _listed(fields) if fields else "the names of the fields with their text"
    whole = 'If each page gives one item, judge its response with DEDUP_SOURCE = "response"; i'
    return (
        f"An item holds no whole page (its fields are {_names(record)}): it is kept and not judged, and "
        f"so are all others like it.{every if comes_again else ''} Leave records alone: a price or a "
        f"date makes two of them different. {whole if of_page else 'I'}f these are articles, judge them "
        f"with DEDUP_TEXT_FIELDS = {named}"
    )


def _text_fields(record: Mapping[str, Any]) -> list[str]:
    """Return the fields of *record* with its title and texts, none if no field has two words."""
    texts = {}
    for name, value in record.items():
        lines = value if isinstance(value, list | tuple) else [value]
        if all(isinstance(line, str) for line in lines) and (text := "\n".join(lines)):
            texts[name] = text
    long = [name for name, value in record.items() if long_texts({name: value})]
    titles = [name for name in ("title", "headline", "name") if name in texts and name not in long][:1]
    words = {name: len(plain_text(texts[name]).split()) for name in texts if name not in titles}
    most = max(words.values(), default=0)
    long = long or [name for name in words if words[name] == most > 1][:1]
    return titles + long if long else []


def _names(record: Mapping[str, Any]) -> str:
    names = [printable(str(name)) for name in record]
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if names[_MOST_NAMES:] else "")


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(chr(34) + printable(str(name)) + chr(34) for name in names)}]"
