"""What a crawl tells: its stats, all of them below ``dedup/``, and its warnings, each once."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from time import thread_time
from typing import Any, ParamSpec, TypeVar

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from dedup.model.errors import IndexUnavailable, printable
from dedup.model.urls import host_of, with_or_without_www
from dedup.model.verdict import Reason, Verdict
from dedup.reading.fields import long_texts, plain_text, single, texts_of
from dedup.reading.markup import EXCESSES, Excess
from dedup.reading.page import Page
from dedup.report.explanation import loss
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")

_LONGEST_NAME = 80
# Hosts that are not visited and have the pages that others repeat; more are not counted.
_MOST_HOSTS = 1000
# That so many items all have keys of their own is no coincidence; so many are remembered at most.
_MANY_KEYS, _MOST_KEYS = 20, 10_000


class DuplicatePage(DropItem):
    """The item of *url* repeats one that was kept; *verdict* names it.

    *name* stands for an item without URL: its key, or its first line.  The pipeline logs a line of its
    own, so Scrapy, which logs the whole item, is to log none.
    """

    def __init__(self, url: str, verdict: Verdict, name: str = "") -> None:
        super().__init__(url, log_level="NOTSET")
        self.url, self.verdict, self.name = url, verdict, name

    def __str__(self) -> str:  # most logs leave it out
        verdict = self.verdict
        similarity = "-" if verdict.similarity is None else f"{verdict.similarity:.2f}"
        is_near = verdict.lost is not None and verdict.reason is not Reason.UNCHANGED
        # By runs of four words; a report counts words, which are fewer.
        lost = (
            f": loses {'at most ' * bool(verdict.lost)}{loss(verdict, verdict.words)}" if is_near else ""
        )
        content, structure = (
            "-" if distance is None else str(distance)
            for distance in (verdict.content_distance, verdict.structure_distance)
        )
        numbers = f"content distance {content}, structure distance {structure}, similarity {similarity}"
        said = f"{_shown(self.url, self.name)} repeats {_shown(verdict.canonical_url)}{lost}"
        return f"{verdict.reason}: {said} ({numbers})"


def _shown(url: str, name: str = "") -> str:
    name = printable(name, _LONGEST_NAME)
    if url:
        return f"<{printable(url)}>" + (f" {name}" if name else "")
    return f'"{name}"' if name else "an item without URL"


class CrawlStats:
    """The counts of *crawler*, which has a stats collector when its crawl begins, and its warnings."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._given: set[str] = set()
        self._elsewhere: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @cached_property
    def _increase(self) -> Any:  # looked up once: each time Scrapy would wrap it
        assert self._crawler.stats is not None
        return self._crawler.stats.inc_value

    def add(self, name: str, by: float = 1) -> None:
        with suppress(Exception):  # the collector of scrapy-redis takes whole numbers only
            self._increase(f"dedup/{name}", by)

    def timed(self, step: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what *call* returns; add the processor seconds that it takes to the stat of *step*."""
        begin = thread_time()
        try:
            return call(*args, **kwargs)
        finally:
            self._seconds[step] += thread_time() - begin

    def own(self) -> dict[str, int]:
        """Return all counts, whole numbers, by their names without ``dedup/``; tell of all seconds."""
        for step in [*self._seconds]:
            self.add(f"seconds/{step}", self._seconds.pop(step))
        assert self._crawler.stats is not None
        stats: dict[str, Any] = self._crawler.stats.get_stats()
        return {name[6:]: int(value) for name, value in stats.items() if name.startswith("dedup/")}

    def over_limit(self, url: str, excess: Excess) -> None:
        """Warn of a page that is not read because of *excess*."""
        self.add(f"over_limit/{excess}")
        if self.is_first(excess):
            logger.warning(
                "<%s> has %s: such pages are not read, and kept unless all their bytes are those of "
                "another one; dedup/over_limit/%s counts them",
                *(printable(url), EXCESSES[excess], excess),
            )

    def failed(self, error: Exception) -> None:
        """Report an error of the index; one that is no fault of ours needs no traceback."""
        self.add("index_errors")
        said = str(error) or repr(error)
        if self.is_first(said):
            trace = None if isinstance(error, IndexUnavailable) else error
            logger.error("Pages are kept without being judged: %s", said, exc_info=trace)

    def is_first(self, what: str) -> bool:
        is_first = what not in self._given
        self._given.add(what)
        return is_first

    def judged(self, verdict: Verdict) -> None:
        """Count a copy of a page of a host that was not visited."""
        is_elsewhere = verdict.repeats_another and not verdict.canonical_was_met
        if is_elsewhere and len(self._elsewhere) < _MOST_HOSTS:
            self._elsewhere[host_of(verdict.canonical_url)] += 1

    def elsewhere(self, visited: Collection[str]) -> Mapping[str, int]:
        """Return for how many copies pages of each host stand that is none of those *visited*."""
        known = {name for host in visited for name in with_or_without_www(host)}
        return {host: count for host, count in self._elsewhere.most_common() if host not in known}


class RecordNotice:
    """Tells of items that are records, and at the end of fields that settings name without use."""

    def __init__(self, settings: DedupSettings) -> None:
        self._by_fields = bool(settings.text_fields)
        self.reasons: Counter[str] = Counter()  # why items were not judged
        self._fields = {"DEDUP_KEY_FIELDS": settings.key_fields}
        if settings.source != "response":
            self._fields["DEDUP_TEXT_FIELDS"] = settings.text_fields
        self._judged, self._keys = 0, set[int]()
        self._never_found = {name for names in self._fields.values() for name in names}
        self._shown = ""  # the names of the fields of an item

    def note(self, record: Mapping[str, Any]) -> None:
        """Warn about *record*, an item that holds no page, the first time."""
        why = "the items hold no whole pages, and no fields were named (DEDUP_TEXT_FIELDS)"
        self.reasons[why] += 1
        if self.reasons[why] == 1:
            logger.warning("%s", advice(record))

    def seen(self, item: Any, page: Page | None) -> None:
        """Note which of the named fields *item* has, and the key of its page, if it gave one."""
        if page is None:
            none = "no item has a field that DEDUP_TEXT_FIELDS names"
            self.reasons[none if self._by_fields else "dedup_page_from_item gave no pages"] += 1
        elif len(self._keys) < _MOST_KEYS:
            self._judged += 1
            self._keys.add(hash(page.item_key))
        if self._never_found and ItemAdapter.is_item(item):
            record = ItemAdapter(item)
            self._never_found -= {name for name in record if any(texts_of(record[name]))}
            self._shown = _names(record)

    def reason(self) -> str:
        """Return why nothing was judged, if that is so."""
        return next((why for why, _ in self.reasons.most_common(1)), "there is nothing in the pages")

    def closing(self) -> Iterator[str]:
        """Yield the warnings about named fields, now that all items were seen."""
        if (keys := self._fields["DEDUP_KEY_FIELDS"]) and len(self._keys) == self._judged >= _MANY_KEYS:
            yield (
                f"DEDUP_KEY_FIELDS names {_listed(keys)}, which was different in each item, so that no "
                "copy could be found. That is right for records; for articles leave the setting out"
            )
        for setting, names in self._fields.items():
            never = [name for name in names if name in self._never_found]
            if never and self._shown:
                yield (
                    f"{setting} names {_listed(never)}, which no item had; the last one has "
                    f"{self._shown}. Is a name misspelt, or does a pipeline before ours empty the field?"
                )


def advice(record: Mapping[str, Any]) -> str:
    """Return the warning about *record*, an item that holds no page.

    No field is proposed as a key: one that is different in every item would switch deduplication off.
    """
    fields = _text_fields({name: single(value) for name, value in record.items()})
    named = _listed(fields) if fields else "the names of the fields with their text"
    return (
        f"An item holds no whole page (its fields are {_names(record)}): it is kept and not judged, and "
        "so are all others like it, in every crawl. Leave records alone: a price or a date makes two of "
        "them different. If each page gives one item, judge its response with DEDUP_SOURCE = "
        f'"response"; if these are articles, judge them with DEDUP_TEXT_FIELDS = {named}'
    )


def _text_fields(record: Mapping[str, Any]) -> list[str]:
    """Return the fields of *record* with its title and texts, none if no field has two words."""
    texts = {name: plain_text("\n".join(texts_of(value))) for name, value in record.items()}
    titles = [name for name in ("title", "headline", "name") if texts.get(name)][:1]
    words = {name: len(text.split()) for name, text in texts.items() if name not in titles}
    most = max(words.values(), default=0)
    long = [name for name, value in record.items() if long_texts({name: value})]
    long = long or [name for name in words if words[name] == most > 1][:1]
    return list(dict.fromkeys([*titles, *long])) if long else []


def _names(record: Mapping[str, Any]) -> str:
    names = [printable(str(name)) for name in record]
    return ", ".join(names[:12]) + (", ..." if names[12:] else "")


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(chr(34) + printable(str(name)) + chr(34) for name in names)}]"
