"""Asks for an address twice: what differs then is noise, and is left out of the pages of its host."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from dedup.index.index import Detector
from dedup.index.notes import SiteNoise, all_noise, put_noise
from dedup.index.rows import OF_URL
from dedup.model.errors import printable
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.hashes import digest
from dedup.model.urls import host_of
from dedup.model.verdict import Reason, Row, Verdict
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.pages import page_after_callback, texts_of_links
from dedup.plugin.question import Question
from dedup.plugin.requests import NoAnswer, probe_of, second_answer
from dedup.plugin.settler import Settler
from dedup.prints.fingerprinter import other_pairs, sentences_digest
from dedup.reading.noise import (
    Evidence,
    Gap,
    Gaps,
    GapSet,
    Noise,
    SiteLists,
    places_shown,
)
from dedup.reading.page import Page, UnreadablePage
from dedup.rule.match import EDIT_WORDS, match, own_words
from dedup.urls.budget import patterns_of_url

logger = logging.getLogger(__name__)

# Of a host no page before this one is asked for twice, and so many where it has fewer than 800.
FIRST, FEWEST = 20, 40
# At first pages are asked for again until so many have changed nothing of what is left out, at most
# so many at a time.  After so many failures, one after the other, nothing more is asked for.
_PATIENCE = 3
# And one page of each part of a site, and with each element that has a name, after so many such pages,
# and after twice as many each time, in each language, as places are known by their words; and the first
# with each that had another text in the last crawl.
_OF_ELEMENT = 5
# It is asked again so many seconds later, as clocks show seconds.  Some pages wait for that, so many
# seconds apart, as others show who is there.
_PAUSE, _APART, _MOST_HELD = 1.1, 5.0, 6
# The rest is for audits, so many of them at the end of the crawl.
_LEARNING, _LAST = 0.5, 2
_ALIKE = 5  # if so many kept pages have nothing but noise to tell them apart, they are no copies
# The last pages that were kept, so many in a crawl, are read again when more is known; none of a host
# where on so many pages nothing has moved.
_MOST_KEPT, _QUIET = 2_000, 100
_MOST_COMPARED = 1_000  # pages of a crawl with their last versions
# So many hosts are known at a time, and so many texts of dropped pages of each.
_MOST_HOSTS, _MOST_TEXTS = 10_000, 5_000
# The next audit of the same places is due at so many times the copies of the last one, or so many more.
_GROWTH, _MOST_WAITING = 3, 100
_SHOWN, _LONGEST = 3, 160


@dataclass(slots=True, eq=False)
class _Element:
    """An element of pages: how often one with it was compared, and how many there were.

    So many were to be, as they had another text in the last crawl: *updates*.
    """

    looks: int = 0
    pages: int = 0
    updates: int = 0


class _Dropped(NamedTuple):
    """The *row* of the page that was dropped as the *number*-th, its gaps, and those not yet audited."""

    number: int
    row: int
    request: Request | None
    gaps: GapSet
    unaudited: GapSet


class _Met(NamedTuple):
    """A *response*, the elements of its page, and when it came, in seconds of the monotonic clock."""

    response: Response
    elements: Sequence[_Element]
    at: float

    @property
    def age(self) -> float:
        return monotonic() - self.at

    async def pause(self, seconds: float = 0.0) -> None:
        """Wait for so many *seconds*, or until a clock shows another one."""
        await asyncio.sleep(max(0.0, (seconds or _PAUSE) - self.age))


@dataclass(slots=True)
class _LeftOut:
    """What is known of pages that were dropped without the same gaps."""

    drops: int = 0
    audited: int = 0  # so many were dropped by the last audit
    last: deque[tuple[int, _Met]] = field(
        default_factory=lambda: deque(maxlen=_MOST_HELD)
    )  # and numbers


@lru_cache(_MOST_TEXTS)
def _has_name(place: str) -> bool:
    return Gap(place).is_possible


@dataclass(slots=True, eq=False)
class _Host:
    """What is known of one host; *asked* counts all requests, *learning* those that were no audits."""

    name: str
    noise: Noise = field(default_factory=Noise)
    lists: SiteLists = field(default_factory=SiteLists)
    pages: int = 0
    asked: int = 0
    learning: int = 0
    failed: int = 0  # the last ones
    quiet: int = 0
    under_way: int = 0
    later: deque[_Met] = field(default_factory=lambda: deque(maxlen=_PATIENCE))
    held: list[_Met] = field(default_factory=list)  # the first ones come first
    elements: dict[tuple[str, str], _Element] = field(default_factory=dict)  # by language and place
    is_closed: bool = False
    # What is left of many kept pages: nothing but noise tells these apart, so it is not left out.
    alike: set[bytes] = field(default_factory=set)
    # The first pages that were dropped and of which the same was left, by their paths.
    paths: dict[bytes, dict[str, _Dropped]] = field(default_factory=dict)
    left_out: defaultdict[GapSet, _LeftOut] = field(default_factory=lambda: defaultdict(_LeftOut))
    known: Mapping[Gap, Evidence] = field(default_factory=dict)  # what earlier crawls have seen
    waiting: list[_Dropped] = field(default_factory=list)
    passed: list[_Dropped] = field(default_factory=list)  # they wait no more
    dropped: int = 0
    has_left_out: bool = False

    def elements_of(self, page: Page) -> list[_Element]:
        """Return the elements of *page* with a class or an id, or else all, and its part of the site.

        It is one more with them.
        """
        names, part = patterns_of_url(page.url)
        places, found = dict.fromkeys(page.places), list[_Element]()
        for place in (names[part], *([*filter(_has_name, places)] or places)):
            if (element := self.elements.get((page.language, place))) is None:
                element = _Element()
                if len(self.elements) < _MOST_TEXTS:
                    self.elements[page.language, place] = element
            element.pages += 1
            found.append(element)
        return found

    def seen(self, gaps: GapSet) -> int:
        """Return on how many pages all *gaps* have moved by now, 0 if earlier crawls did not know them.

        A gap that has also stayed counts as so many moves in a row as would make that as likely.
        """
        evidence = self.noise.evidence
        found = (evidence.get(gap, Evidence()).chance if gap in self.known else 1 for gap in gaps)
        return max(0, round(1 / max(found, default=1)) - 2)

    def shown(self, gaps: Collection[Gap]) -> str:
        """Return the places of *gaps*, as many as a log has room for."""
        evidence = self.noise.evidence | self.lists.evidence
        found = places_shown({gap: evidence.get(gap, Evidence()) for gap in gaps})
        more = [f"and {len(found) - _SHOWN:,} more: dedup places"] * (len(found) > _SHOWN)
        return ";\n    ".join([*(printable(place, _LONGEST) for place in found[:_SHOWN]), *more])


class Probes:
    """The noise of the hosts of one crawl.

    Of the pages of a host at most a share (``DEDUP_PROBES``) are asked for twice, or `FEWEST`.
    """

    def __init__(self, index: CrawlIndex, settler: Settler) -> None:
        self._index, self._settler, self._counts = index, settler, index.counts
        self._crawler, self._share = index.crawler, index.settings.probes / 100
        # So many pages may still be compared with their last versions.
        self._comparisons = _MOST_COMPARED if index.settings.config.unchanged == "drop" else 0
        self._scope = ""
        self._known: Mapping[str, SiteNoise] = {}  # what the index knew before the crawl
        self._has_past = False  # whether it had pages
        self._hosts: dict[str, _Host] = {}
        # Kept pages as they came, by their rows, with a digest of what is left of each.
        self._kept: OrderedDict[int, tuple[_Host, Page, bytes]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, at: Detector) -> None:
        if self._crawler.spider and self._index.settings.config.scope == "spider":
            self._scope = self._crawler.spider.name
        found = all_noise(at.index.store)
        self._has_past = at.index.store.last() > 0
        self._known = {site.host: site for site in found if site.scope == self._scope}

    def close(self) -> list[str]:
        """End; return for each host what is left out by now."""
        for task in self._tasks:
            task.cancel()
        for host in self._hosts.values():
            self._save(host)
            if host.waiting:
                self._note_waiting(host)
        if waiting := sum(len(host.waiting) for host in self._hosts.values()):
            self._counts.add("unaudited", waiting)
        told = []
        for host in self._hosts.values():
            left_out = "left out, as it changes by itself, "
            left_out += "" if host.has_left_out else "from the next crawl on, "
            if host.noise.acting:
                told.append(f"{left_out}on {printable(host.name)}: {host.shown(host.noise.acting)}")
        return told

    # Pages on their way

    def mask(self, question: Question) -> None:
        """Leave out of the page of *question* what is noise on its host, and note what is its own."""
        response = question.response
        # An item that names its texts has no places: it stays whole.
        if response is None or not question.page.places:
            return
        host = self._host_of(response)
        if self._share:
            self._mask(host, response, question)
        question.lists, question.of_site = host.lists, host.lists.on(question.page)

    def _mask(self, host: _Host, response: Response, question: Question) -> None:
        page = question.page
        question.raw, question.acting = page, host.noise.acting
        # What cannot be asked again is dropped for nothing that was left out.
        if not host.noise.acting or not probe_of(response):
            return
        masked, gaps = host.noise.gaps.masked(page)
        if gaps and _left(masked) not in host.alike and not self._must_wait(host, gaps):
            question.page, question.gaps = masked, gaps
            host.has_left_out = True

    def mask_earlier(self, question: Question) -> None:
        """Leave out of what earlier runs saw at the URL of *question* what is left out of its page.

        It is no change of the page that more is known of its site.
        """
        if not (self._has_past and question.response and question.sighting):
            return
        host = self._host_of(question.response)
        if host.noise.evidence or (question.lists and question.lists.acting):
            self._index.do(partial(_mask_earlier, question, question.sighting, host.noise.gaps))

    def _must_wait(self, host: _Host, gaps: GapSet) -> bool:
        of = host.left_out[gaps]
        return not self._has_left(host) and of.drops >= _GROWTH**2 * max(of.audited, host.seen(gaps))

    def judged(self, question: Question, verdict: Verdict) -> None:
        """Note what became of the page of *question*; whatever fails here, that stays as it is."""
        raw, row, response = question.raw, verdict.row, question.response
        if row is None or response is None:
            return
        try:
            host = self._host_of(response)
            self._compare_with_last(host, question.page, verdict, response)
            if raw is None:
                return
            host.pages += 1
            met = _Met(response, host.elements_of(raw), monotonic())
            if verdict.kept:
                self._keep(host, row, raw, question)
                self._look(host, raw, met, verdict)
            elif question.gaps and verdict.reason is not Reason.EXACT_DUPLICATE:
                self._dropped(host, question, verdict, met)
        except Exception:
            logger.exception("It is not known what moves on <%s>", printable(response.url))

    def _compare_with_last(self, host: _Host, page: Page, verdict: Verdict, response: Response) -> None:
        """Learn from *page* and what it said in an earlier crawl what is the site's own."""
        previous, is_changed = verdict.previous, verdict.reason is not Reason.UNCHANGED
        if not (self._comparisons and previous and page.places):
            return
        if not host.lists.wants(is_changed=is_changed):
            return

        def learn(before: Page | None) -> None:
            self._comparisons -= before is not None
            links = texts_of_links(response) if before and is_changed else ()
            if before and host.lists.learn(page, host.noise.gaps.masked(before)[0], links):
                name, shown = printable(host.name), host.shown(host.lists.acting)
                logger.info("No change of a page on %s, as all pages show it: %s", name, shown)
                self._save(host)

        if is_changed:
            self._index.do(partial(_stored_at, previous), learn)
        else:
            learn(page)

    def _host_of(self, response: Response) -> _Host:
        """Return the host that has answered, whatever URL the item has: what it shows is its own."""
        name = host_of(response.url)
        if (host := self._hosts.get(name)) is not None:
            return host
        # Of one that has nothing under way all is forgotten but what the index is told.
        left = (host for host in self._hosts.values() if not host.under_way and not host.waiting)
        if len(self._hosts) >= _MOST_HOSTS and (old := next(left, None)):
            self._save(old)
            del self._hosts[old.name]
        host = self._hosts[name] = _Host(name)
        if (known := self._known.get(name)) and known.gaps:
            host.known = {gap: one for gap, one in known.gaps.items() if not one.is_of_site}
            host.lists = SiteLists({gap: known.gaps[gap] for gap in known.gaps.keys() - host.known})
        if known and host.known:
            host.noise, host.quiet = Noise(host.known), _PATIENCE
            host.elements = {(one, at): _Element(looks) for one, at, looks in known.elements}
        return host

    def _save(self, host: _Host) -> None:
        if host.noise.evidence or host.lists.evidence:
            # Half, as of evidence.
            halves = [(*key, one.looks // 2) for key, one in host.elements.items() if one.looks > 1]
            gaps = host.noise.aged() | host.lists.evidence
            told = partial(SiteNoise, self._scope, host.name, gaps=gaps, elements=halves)
            self._index.do(lambda at: put_noise(at.index.store, told(run=at.run.id)))

    def _keep(self, host: _Host, row: int, raw: Page, question: Question) -> None:
        if host.pages > _QUIET and not host.noise.evidence:
            return
        self._kept[row] = host, raw, _left(question.page)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        if question.acting != host.noise.acting:
            self._read_again(host, row)

    def _read_again(self, host: _Host, only: int | None = None) -> None:
        """Give the pages of *host*, or *only* a row, the fingerprints of what is left of them by now."""
        kept = {row: one for row, one in self._kept.items() if one[0] is host and only in (None, row)}
        masked = {row: host.noise.gaps.masked(raw)[0] for row, (_, raw, _) in kept.items()}
        lefts = {row: _left(page) for row, page in masked.items()}
        if only is None:
            host.alike |= {left for left, pages in Counter(lefts.values()).items() if pages >= _ALIKE}
        changed = {}
        for row, (_, raw, before) in kept.items():
            read = raw if lefts[row] in host.alike else masked[row]
            if (left := _left(read)) != before:
                self._kept[row] = host, raw, left
                changed[row] = read
        if changed and (detector := self._index.detector):
            prints = {row: detector.fingerprint(page) for row, page in changed.items()}
            self._index.do(partial(_reprint, prints))

    # Asking again

    def _look(self, host: _Host, page: Page, met: _Met, verdict: Verdict) -> None:
        if not self._may_learn(host):
            host.held.clear()
            return
        # What a program writes has no date, or says how long it may be stored.
        given = met.response.headers
        is_made = not given.get("Last-Modified") or given.get("Cache-Control") or given.get("Expires")
        many = {one for one in met.elements if one.pages >= _OF_ELEMENT << one.looks}
        has_many = bool(many and (is_made or host.noise.evidence))
        # A counter may be all that has changed.
        is_update = verdict.reason is Reason.UPDATED
        is_update &= any(one.updates < _PATIENCE for one in met.elements)
        is_due = host.quiet < _PATIENCE or has_many or is_update or host.noise.is_wanted(page)
        if is_due and host.pages >= FIRST * (1 if verdict.candidates else 2):
            for one in met.elements:
                one.updates += is_update
            held = (one for one in host.held if not (many or {*met.elements}).isdisjoint(one.elements))
            if host.quiet >= _PATIENCE and not is_update and (old := next(held, None)):
                host.held.remove(old)
                met = old
            host.later.append(met)
            self._ask_later(host)
        elif len(host.held) < _MOST_HELD and not (host.held and host.held[-1].age < _APART):
            host.held.append(met)

    def _may_learn(self, host: _Host) -> bool:
        return host.learning < _LEARNING * self._budget(host)

    def _budget(self, host: _Host) -> float:
        return max(FEWEST, self._share * host.pages)

    def _has_left(self, host: _Host, left: int = _LAST) -> bool:
        """Return whether *host* may be asked something, with so many requests left for later."""
        return host.asked + left < self._budget(host)

    def _ask_later(self, host: _Host) -> None:
        """Ask again for the last pages that are due, not for too many at once: pages come in bursts."""
        most = _PATIENCE - host.quiet if host.quiet < _PATIENCE else _PATIENCE
        while host.later and host.under_way < most and self._may_learn(host):
            if self._ask_again(host, met := host.later.pop()):
                host.learning += 1
                for one in met.elements:
                    one.looks += host.quiet >= _PATIENCE or one.looks < _PATIENCE

    def _ask_again(
        self,
        host: _Host,
        met: _Met | None,
        gaps: GapSet = frozenset(),
        *,
        left: int = _LAST,
        number: int = 0,
    ) -> bool:
        """Ask for the page that was *met* again, and return whether that is done.

        So many requests must be *left* for later.  If *gaps* are audited it is the *number*-th dropped.
        """
        request = None if met is None or host.is_closed else probe_of(met.response)
        if met is None or request is None or not self._has_left(host, left):
            return False
        host.under_way += 1
        host.asked += 1  # not when it begins: others would take what is left for the end meanwhile
        task = asyncio.ensure_future(self._compare(host, met, request, gaps, number))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _compare(
        self, host: _Host, met: _Met, request: Request, gaps: GapSet, dropped: int
    ) -> None:
        pages = list[Page]()
        try:
            if host.noise.seconds(gaps) or (not gaps and host.quiet >= _PATIENCE):
                await met.pause(host.noise.seconds(gaps))
            pages = await self._answers(host, met, request, gaps)
            if len(pages) > 1:
                self._learn(host, pages, gaps, dropped, met.age)
        except Exception as error:
            host.failed += 1
            if isinstance(error, NoAnswer) and host.failed < _PATIENCE:
                # As if it had not been made: the next page may tell as much.
                host.left_out[gaps].audited = 0
                host.learning -= not gaps
                for one in met.elements:
                    one.looks = max(0, one.looks - (not gaps))
                return
            name, said = printable(host.name), printable(str(error))
            logger.warning("Nothing more is asked for twice on %s: %s", name, said)
            host.is_closed, pages = True, []
        finally:
            host.under_way -= 1
        if host.quiet < _PATIENCE and self._may_learn(host):
            self._ask_later(host)
        else:
            host.later.clear()
        if gaps and len(pages) < 2:
            self._give_up(host, host.noise.acting, "its pages cannot be asked for again")

    async def _answers(self, host: _Host, met: _Met, request: Request, gaps: GapSet) -> list[Page]:
        """Return the page that was *met* and other answers, while *gaps* may have stayed by chance."""
        assert isinstance(met.response, HtmlResponse)
        ignore = self._index.settings.ignore
        first = page_after_callback(met.response, ignore)
        pages = [] if first is None or first.excess else [first]
        while pages:
            self._counts.add("asked_twice")
            host.asked += len(pages) > 1
            answer = await second_answer(self._crawler, request, met.response)
            host.failed, host.is_closed = 0, host.is_closed or answer is None
            page = page_after_callback(answer, ignore)
            if page is None or page.excess:
                return []
            pages.append(page)
            stayed = host.noise.audit(gaps, pages)[1] if gaps else gaps
            if stayed == host.noise.certain(stayed, len(pages) - 1) or not self._has_left(host):
                break
            slow = host.noise.seconds(stayed)
            await met.pause(slow and met.age + slow)
        return pages

    def _learn(self, host: _Host, pages: list[Page], gaps: GapSet, dropped: int, seconds: float) -> None:
        """Learn from the answers *pages* of one address, the last one so many *seconds* after the first.

        If there are *gaps*, they are audited for what was *dropped*.
        """
        moved, stayed = host.noise.audit(gaps, pages) if gaps else (gaps, gaps)
        known = host.noise.gaps.masked(pages[0])[0].text
        has_changed = host.noise.learn(pages[0], pages[-1], seconds)
        first, second = (host.noise.gaps.masked(page)[0].text for page in (pages[0], pages[-1]))
        host.quiet = 0 if known != first != second else host.quiet + 1
        self._passed(host, gaps, moved, dropped)
        if stayed and len(pages) > 2:  # one of two may be the same by chance
            self._give_up(host, stayed, "what was left out has stayed", *host.passed)
        if has_changed:
            self._save(host)
            self._read_again(host)

    # What was dropped because something was left out

    def _dropped(self, host: _Host, question: Question, verdict: Verdict, met: _Met) -> None:
        """Let a page that was dropped wait for an audit, unless it repeats what was kept as it came."""
        host.dropped += 1
        request, gaps = met.response.request, question.gaps
        one = _Dropped(host.dropped, verdict.row or 0, request, gaps, gaps)
        host.waiting.append(one)
        waits = partial(self._wait, host, one, question.page, met)
        kept, detector = self._kept.get(verdict.canonical or 0), self._index.detector
        if kept and detector and question.raw and question.sighting:
            prints = detector.fingerprint(kept[1]), detector.fingerprint(question.raw)
            self._index.do(partial(_repeats, *prints, question.sighting, kept[0].name), waits)
        elif question.raw and verdict.canonical:
            self._index.do(partial(_is_as_it_came, question.raw, verdict.canonical), waits)
        else:
            waits(None)

    def _wait(self, host: _Host, one: _Dropped, page: Page, met: _Met, is_sure: bool | None) -> None:
        if is_sure:
            host.waiting = [other for other in host.waiting if other.number != one.number]
            return
        gaps, left = one.gaps, _left(page)
        if left in host.paths or len(host.paths) < _MOST_TEXTS:
            pages = host.paths.setdefault(left, {})
            pages.setdefault(urlsplit(page.url).path, one)
            if len(pages) + 1 >= _ALIKE:  # the page kept is at a path of its own
                host.alike.add(left)  # at so many paths only noise can tell it apart
                self._restore(host, list(pages.values()))
                return
        self._note_waiting(host)
        of = host.left_out[gaps]
        of.drops += 1
        of.last.append((one.number, met))
        # At the 1st, 3rd, 9th, 27th; later where it had moved on more pages, and stayed on none.
        known = host.seen(gaps) if of.audited else 0
        if of.drops >= min(_GROWTH * max(of.audited, known), of.audited + _MOST_WAITING):
            self._audit(host, gaps)

    def _audit(self, host: _Host, gaps: GapSet, *, is_last: bool = False) -> None:
        """Ask again for a page without *gaps*: at first not the last one, which a session remembers."""
        of = host.left_out[gaps]
        number, met = of.last[0] if of.last else (0, None)
        if self._ask_again(host, met, gaps, left=0 if is_last else _LAST, number=number):
            of.audited = of.drops
            of.last.popleft()
            of.last.rotate(1)
        elif is_last:
            # What moved in earlier crawls on so many pages, and stayed on none, is believed.
            back = [one for one in host.waiting if one.gaps == gaps]
            sure = [one for one in back if host.seen(one.unaudited) >= _PATIENCE]
            host.waiting = [one for one in host.waiting if one not in sure]
            if back := [one for one in back if one not in sure]:
                unsure = {gap for one in back for gap in one.unaudited}
                logger.info(
                    "%d copies on %s are kept, as nothing confirmed that this changes by itself: %s "
                    "(if it does not matter, name it in DEDUP_IGNORE)",
                    *(len(back), printable(host.name), host.shown(unsure)),
                )
            self._restore(host, back)

    def _passed(self, host: _Host, gaps: GapSet, moved: GapSet, dropped: int) -> None:
        """Note that some *gaps* of a page have *moved*: so they do in the first *dropped* such pages.

        Such are those of which nothing else was left out.
        """
        left = [
            one._replace(unaudited=one.unaudited - moved)
            if one.gaps <= gaps and one.number <= dropped
            else one
            for one in host.waiting
        ]
        host.waiting = [one for one in left if one.unaudited]
        passed = (one for one in left if not one.unaudited)
        host.passed = [*host.passed, *passed][-_MOST_TEXTS:]  # they hold requests
        for of in host.left_out.values() if not host.waiting else ():
            of.last.clear()
        self._note_waiting(host)

    def _give_up(self, host: _Host, gaps: Collection[Gap], why: str, *passed: _Dropped) -> None:
        """Leave *gaps* out no more, and give back what was dropped for that, also what had *passed*."""
        if host.noise.switch_off(gaps):
            name, shown = printable(host.name), host.shown(gaps)
            logger.info("No longer left out on %s: %s (%s)", name, shown, why)
            self._save(host)
            self._read_again(host)
        self._restore(host, [one for one in (*host.waiting, *passed) if one.gaps & frozenset(gaps)])

    def _restore(self, host: _Host, back: Sequence[_Dropped]) -> None:
        rows = {one.row for one in back}
        host.waiting = [one for one in host.waiting if one.row not in rows]
        host.passed = [one for one in host.passed if one.row not in rows]
        self._note_waiting(host)
        if back:
            self._settler.give_back([*rows], [one.request for one in back if one.request])

    def _note_waiting(self, host: _Host) -> None:
        name, rows = host.name, [one.row for one in host.waiting]
        self._index.do(lambda at: at.index.runs.note_unaudited(at.run, name, at.rows(rows)))

    def audit_all(self) -> bool:
        """Ask again for what waits for an audit; return whether anything is under way."""
        for host in self._hosts.values():
            while host.waiting and not host.under_way:
                # The request that may confirm most comes first.
                sets = Counter(one.gaps for one in host.waiting)
                gaps = max(sets, key=lambda most: sum(sets[gaps] for gaps in sets if gaps <= most))
                self._audit(host, gaps, is_last=True)
        return any(host.under_way for host in self._hosts.values())


def _repeats(kept: Fingerprint, page: Fingerprint, seen: Sighting, host: str, at: Detector) -> bool:
    """Return whether a *page* repeats one that was *kept* on *host*, both as they came.

    What was left out is not known to be common, so by what is left, as it was *seen*, it has text enough
    to be another version, or it has no new words.
    """
    with at.index.store.transaction(writing=False):
        site = at.index.ledger.known(seen, at.config).site().beside(host)
        if not match(kept, page, at.config, site).is_duplicate:
            return False
        is_text = own_words(seen.fingerprint, site) >= EDIT_WORDS
        return is_text or not site.unknown(other_pairs(kept.traits, page.traits)).any()


def _is_as_it_came(page: Page, kept: int, at: Detector) -> bool:
    """Return whether *page*, with all that is left out of it, has the text of the stored one *kept*."""
    [row] = at.rows([kept])
    before = _stored_at(row, at)
    return before is not None and before.text == page.text


def _reprint(prints: Mapping[int, Fingerprint], at: Detector) -> None:
    store = at.index.store
    with store.transaction(writing=True):
        for row, name in zip(at.rows(prints), prints, strict=True):
            store.reprint(row, prints[name])


def _mask_earlier(question: Question, seen: Sighting, noise: Gaps, at: Detector) -> None:
    """Leave *noise* out of the listed pages of the URL of *question* whose texts are stored.

    Lists of the site are left out of their sentences, as they are out of those of its page, *seen*.
    """
    others = f"p.listed AND p.run < ? AND p.token_digest != ? AND {OF_URL}"
    rows = [*at.index.store.rows(others, seen.run, seen.fingerprint.token_digest, seen.url_key)]
    if rows and not question.gaps and noise.masked(question.page)[1]:  # it stayed whole
        noise = Gaps(())
    prints = dict[int, Fingerprint]()
    for row in rows:
        if row.sighting.fingerprint.sentences == seen.fingerprint.sentences != b"":
            continue  # nothing has changed
        page = _stored(row, at) if row.sighting.group == seen.group else None
        if page is None:
            continue
        page = replace(noise.masked(page)[0], seen_on=row.sighting.seen_on)
        own = question.lists.own_before(page, question.of_site) if question.lists else None
        if (found := of_own(at.fingerprint(page), own)) != row.sighting.fingerprint:
            prints[row.id] = found
    if prints:
        _reprint(prints, at)


def of_own(found: Fingerprint, own: Page | None) -> Fingerprint:
    """Return the fingerprint *found* of a page with the sentences of what is its *own*."""
    return replace(found, sentences=sentences_digest(own.text)) if own and found.sentences else found


def _stored_at(row: int, at: Detector) -> Page | None:
    return _stored(at.index.row(row), at)


def _stored(row: Row, at: Detector) -> Page | None:
    with suppress(UnreadablePage):
        return at.index.page_of(row)
    return None


def _left(page: Page) -> bytes:
    return digest(page.text.encode("utf-8", "surrogatepass"))
