"""Learns rules while a crawl runs: what pages say of them, what they predict, and how that comes out.

It knows no crawler and no storage: it is told of pages and requests, and says what it thinks of a URL.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dedup.urls.edits import Edit, Form, Reading, edits_of, reading_of
from dedup.urls.evidence import (
    REPLAYED,
    Evidence,
    RuleStanding,
    State,
    Tally,
    Wrong,
    evidence_of,
    shows_few_pages,
    state_of,
    tested_by,
)
from dedup.urls.groups import Groups, Shift
from dedup.urls.names import is_declared, is_known, is_version
from dedup.urls.parts import ANY_PATH, Parts, parts_of, patterns_for, places_of, without_anchor
from dedup.urls.replay import History, Replay, Visit
from dedup.urls.rule import Rule
from dedup.urls.views import Page, View, hash_of
from dedup.values.hashes import murmur3

# How many rules are thought of; how many of one edit, since most paths have a pattern of their own.
_MOST_RULES, _MOST_PATTERNS = 20_000, 200
# Pages that others can repeat, and URLs that were met; beyond it nothing is predicted.
_MOST_PAGES, _MOST_MET = 50_000, 200_000
# Links of all hosts that are remembered for the replay, 4 bytes each.
_MOST_LINKS = 4_000_000
# URLs whose parts are remembered: most are asked about a few times, and when a view is made again.
_MOST_READ = 20_000
# A view is made again at once while no more URLs were taken up again for this than so many, and so
# many times those met; then when half as many more were met.
_MOST_AGAIN, _TIMES_AGAIN = 20_000, 20
# The first matches of an active rule in a run are looked at, whatever their hash is.
FIRST_LOOKS = 2
OTHER_CONTENT, OTHER_LINKS = "other content", "other links"
# After that every so many, of the first and of all others.
EARLY_MATCHES, EARLY_STEP, STEP = 300, 10, 20


@dataclass(slots=True, eq=False)
class RuleRecord:
    """A rule under way: what earlier runs have seen of it, what this one has, and what follows."""

    rule: Rule
    earlier: tuple[Tally, ...] = ()
    own: Tally = field(default_factory=Tally)
    standing: RuleStanding = RuleStanding.LEARNED
    is_declared: bool = False
    looks: int = 0
    state: State = field(init=False)
    _evidence: Evidence | None = field(init=False, default=None)
    _tested: frozenset[int] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.renew()

    @property
    def evidence(self) -> Evidence:
        """What all runs together say of it."""
        if self._evidence is None:
            self._evidence = evidence_of((*self.earlier, self.own))
        return self._evidence

    def renew(self) -> None:
        """Work out its state again."""
        self._evidence = None
        known = self.is_declared or is_known(self.rule.edit)
        narrow = not self.rule.pattern.endswith("*")
        self.state = state_of(self.evidence, self.standing, is_known=known, is_narrow=narrow)
        is_said = self.is_declared or self.standing is RuleStanding.PINNED
        if self.state is State.ACTIVE and not is_said and is_version(self.rule.edit):
            self.state = State.TRIAL  # for ever: it predicts, and never acts

    @property
    def shows_few_pages(self) -> bool:
        """Whether it is about one path, and few pages with many addresses, such as a login page."""
        return not self.rule.pattern.endswith("*") and shows_few_pages(self.evidence)

    def covers(self, pattern: str) -> bool:
        """Return whether it speaks of paths of that narrowest *pattern*."""
        return self.standing is RuleStanding.PINNED or pattern not in self.evidence.except_paths

    def speaks_of(self, patterns: tuple[str, ...]) -> bool:
        """Return whether it speaks of a path that has all these *patterns*, the narrowest one last."""
        return self.rule.pattern in patterns and self.covers(patterns[-1])

    def is_tested(self, key: Parts) -> bool:
        """Return whether pages where *key* stands were seen to be as it says."""
        if self.standing is RuleStanding.PINNED:
            return True
        if self._tested is None:
            self._tested = tested_by((*self.earlier, self.own))
        return not self._tested.isdisjoint(_looked_at(key))


class Prediction(NamedTuple):
    """The page of a request will repeat *page*, by *records*; if it *acts*, it need not be fetched."""

    records: tuple[RuleRecord, ...]
    key: Parts
    page: Page
    acts: bool

    @property
    def is_of_few(self) -> bool:
        """Whether all its rules are about few pages with many addresses."""
        return all(record.shows_few_pages for record in self.records)


Changed = Callable[[RuleRecord, State], None]


def _unheard(record: RuleRecord, before: State) -> None:
    """Nobody wants to know."""


class Learner:
    """The rules of one crawl.  *changed* is told of a rule whose state has changed, and the old one."""

    def __init__(self, records: Iterable[RuleRecord] = (), changed: Changed = _unheard) -> None:
        self.records: dict[Rule, RuleRecord] = {}
        self.changed_records: set[RuleRecord] = set()
        """Those that were changed since somebody cleared this."""
        self._changed = changed
        self._groups = Groups()
        self._of_host: dict[str, list[RuleRecord]] = {}
        self._patterns: dict[tuple[str, Edit], int] = {}
        # By host, the rules that predict.
        self._acting: dict[str, list[RuleRecord]] = {}
        self._pages: dict[str, list[Page]] = {}
        self._standing = 0
        # By URL its number.
        self._met: dict[str, int] = {}
        self._histories: dict[str, History] = {}
        self._links = 0
        self._met_on: dict[str, list[str]] = {}
        self._readings: dict[str, Reading | None] = {}
        self._views: dict[str, View] = {}
        self._again = 0
        self._declared: dict[str, list[tuple[Edit, str]]] = {}
        for record in records:
            self._keep(record)
        for host in self._of_host:
            self._act_again(host)

    def _keep(self, record: RuleRecord) -> None:
        rule = record.rule
        self.records[rule] = record
        self._of_host.setdefault(rule.host, []).append(record)
        self._patterns[rule.host, rule.edit] = self._patterns.get((rule.host, rule.edit), 0) + 1

    # What pages say

    def page(self, page: Page, *, can_stand: bool = True, is_wall: bool = False) -> None:
        """Learn from a page whose content is clear; for one that *can_stand* others are withheld.

        One that *is_wall* has copies all over the host.
        """
        read = self._read(page.url)
        if read is None:
            return
        for shift in self._groups.add(read, page.url, page.content, is_wall=is_wall):
            self._shifted(shift)
        if can_stand:
            self._stand(read, page)

    def _shifted(self, shift: Shift) -> None:
        group = hash_of(shift.key)
        if shift.is_crowd:
            narrowest = Rule(shift.host, shift.edit, patterns_for(shift.key)[-1])
            if record := self._record(narrowest):
                own = record.own.with_look(*_looked_at(shift.key))
                self._tally(record, replace(own, is_crowded=True))
            return
        if not shift.is_against:
            of = murmur3(repr(shift.content))
            pair, places = (shift.other, shift.url), _looked_at(shift.key)
            self._each(shift, lambda record: record.own.with_group(group, of, pair).with_look(*places))
            return
        self._each(shift, lambda record: self._contradicted(record, shift, group))

    def _contradicted(self, record: RuleRecord, shift: Shift, group: int) -> Tally:
        return _wronged(record, group, shift.key, (shift.url, shift.other), OTHER_CONTENT)

    def _each(self, shift: Shift, tallied: Callable[[RuleRecord], Tally]) -> None:
        """Change the tallies of the rules that a group speaks of."""
        patterns = patterns_for(shift.key)
        for pattern in patterns:
            record = self._record(Rule(shift.host, shift.edit, pattern))
            if record and record.state is not State.REFUTED and record.covers(patterns[-1]):
                self._tally(record, tallied(record))

    def _record(self, rule: Rule) -> RuleRecord | None:
        """Return the record of *rule*, a new one if there is room."""
        if (record := self.records.get(rule)) is not None:
            return record
        if rule.edit.form is Form.VALUE and not self._matters(rule):
            return None
        if len(self.records) >= _MOST_RULES:
            return None
        if self._patterns.get((rule.host, rule.edit), 0) >= _MOST_PATTERNS:
            return None
        record = RuleRecord(rule, is_declared=self._is_declared(rule))
        self._keep(record)
        return record

    def _matters(self, rule: Rule) -> bool:
        """Return whether the parameter of a rule on one of its values matters: else that is the rule."""
        parameter = Rule(rule.host, Edit(Form.PARAMETER, rule.edit.name))
        record = self.records.get(parameter)
        return record is not None and bool(record.evidence.wrongs)

    def _tally(self, record: RuleRecord, tally: Tally) -> None:
        if tally is record.own:
            return
        if tally.looks is not record.own.looks:
            record._tested = None
        record.own = tally
        self.changed_records.add(record)
        if record.state is State.ACTIVE and not tally.wrongs:  # then only its numbers change
            record._evidence = None
            return
        self._renew(record)

    def _renew(self, record: RuleRecord) -> None:
        """Work out the state of a rule again, and tell of a new one."""
        before = record.state
        record.renew()
        if record.state is not before:
            if before.predicts or record.state.predicts:
                self._act_again(record.rule.host, at_once=before is State.ACTIVE)
            self._changed(record, before)

    def count_withheld(self, records: Iterable[RuleRecord]) -> None:
        """Count a request that was withheld by *records*."""
        for record in records:
            self._tally(record, replace(record.own, withheld=record.own.withheld + 1))

    # What sites declare

    def same(self, url: str, other: str) -> None:
        """Learn that the site itself says that two URLs are one page: by a redirect or a link."""
        one, two = parts_of(url), parts_of(other)
        if one is None or two is None or one == two:
            return
        for edit in edits_of(one):
            if (key := edit.applied(one)) == edit.applied(two):
                for pattern in patterns_for(key):
                    record = self.records.get(Rule(one.host, edit, pattern))
                    if record and not record.own.is_declared:
                        self._tally(record, replace(record.own, is_declared=True))

    def declare(self, host: str, declared: list[tuple[Edit, str]]) -> None:
        """Learn what the robots.txt of *host* says of parameters."""
        self._declared[host] = declared
        for record in self._of_host.get(host, ()):
            if self._is_declared(record.rule):
                record.is_declared = True
                self._renew(record)

    def _is_declared(self, rule: Rule) -> bool:
        path = "/" if rule.pattern == ANY_PATH else rule.pattern.partition("?")[0].removesuffix("*")
        declared = self._declared.get(rule.host)
        return bool(declared) and is_declared(rule.edit, Parts("", rule.host, path, ()), declared or [])

    # What rules predict

    def predictions(self, url: str, signature: str) -> list[Prediction]:
        """Return what the rules say of the page of *url*, before it is fetched."""
        if (seen := self._seen(url)) is None:
            return []
        read, view = seen
        key, active = view.normal(read)
        found = []
        if active and (page := view.page(None, key, url, signature)):
            found.append(Prediction(active, key, page, acts=True))
        for record in view.on_trial(read):
            edit = record.rule.edit
            tested = view.without(edit, key)
            if page := view.page(edit, tested, url, signature):
                found.append(Prediction((record,), tested, page, acts=False))
        return found

    def left(self, url: str) -> tuple[Parts, bool] | None:
        """Return what the rules that act leave of *url*, and whether that is less than all of it.

        None where no rule of its host predicts.
        """
        if (seen := self._seen(url)) is None:
            return None
        read, view = seen
        key, active = view.normal(read)
        return key, bool(active)

    def are_one(self, url: str, other: str) -> bool:
        """Return whether nothing tells two URLs apart but what rules predict that it does not matter."""
        one, two = self._left_by_all(url), self._left_by_all(other)
        return one is not None and one == two

    def _left_by_all(self, url: str) -> Parts | None:
        if seen := self._seen(url):
            return seen[1].bare(seen[0])
        read = self._read(url)
        return read and read.parts

    def opinion(self, url: str) -> tuple[str, tuple[RuleRecord, ...], tuple[RuleRecord, ...]]:
        """Return what is left of *url* by the rules that act, these, and those that predict only."""
        if (seen := self._seen(url)) is None:
            return url, (), ()
        read, view = seen
        key, active = view.normal(read)
        return key.text if active else url, active, tuple(view.on_trial(read))

    def _seen(self, url: str) -> tuple[Reading, View] | None:
        """Return *url* as read, and its host as rules see it; None where none of them predicts."""
        read = self._read(url) if self._acting else None
        if read is None or read.parts.host not in self._acting:
            return None
        return read, self._view(read.parts.host)

    def _read(self, url: str) -> Reading | None:
        """Return what rules read in *url*; those that were read last are remembered."""
        if url not in self._readings:
            if len(self._readings) >= _MOST_READ:
                self._readings.clear()
            self._readings[url] = reading_of(url)
        return self._readings[url]

    def is_explored(self, prediction: Prediction, run: int) -> bool:
        """Return whether a page that need not be fetched is fetched, to see if that is right.

        Where a rule was not tested, each is; else one in so many, in each *run* others.
        """
        records = prediction.records
        for record in records:
            record.looks += 1
        if not all(record.is_tested(prediction.key) for record in records):
            return True
        return any(_has_its_turn(record, run) for record in records)

    # Whether it was right

    def right(self, prediction: Prediction) -> None:
        """Learn that a page showed what was predicted, and led nowhere that was not met."""
        of, places = murmur3(repr(prediction.page.content)), _looked_at(prediction.key)
        for record in prediction.records:
            self._tally(record, record.own.with_right(of).with_look(*places))

    def wrong(self, prediction: Prediction, url: str, reason: str) -> None:
        """Learn that a page did not show what was predicted, or led to something new.

        That is so for the rules of narrower and wider patterns, too, which would have said the same.
        """
        if reason == OTHER_LINKS and self._is_replayed(prediction):
            tested = prediction.records[0]
            self._tally(tested, replace(tested.own, doubts=tested.own.doubts + 1))
            return
        read, pair = self._read(url), (url, prediction.page.url)
        # Of several rules that act together nobody knows which one it was.
        is_final = reason == OTHER_LINKS and len(prediction.records) == 1
        for rule in [record.rule for record in prediction.records]:
            # What it has spoken of: this URL, or what another rule has left of it.
            speaks = read and rule.edit in read.edits
            key = rule.edit.applied(read.parts) if read and speaks else prediction.key
            for pattern in patterns_for(key):
                if record := self.records.get(rule._replace(pattern=pattern)):
                    self._tally(
                        record, _wronged(record, hash_of(key), key, pair, reason, is_final=is_final)
                    )

    def unclear(self, prediction: Prediction) -> None:
        """Count a prediction of which nobody can say whether it was right."""
        for record in prediction.records:
            self._tally(record, replace(record.own, unclear=record.own.unclear + 1))

    # Once more at the end

    def visited(
        self,
        url: str,
        page: Page | None,
        links: Iterable[str],
        *,
        can_stand: bool = False,
        is_wall: bool = False,
    ) -> None:
        """Note a response of *url* for `replay`; *page* is None if it is in doubt what that shows."""
        parts = parts_of(url)
        if parts is None:
            return
        history = self._histories.setdefault(parts.host, History())
        if self.is_full or self._links >= _MOST_LINKS:
            history.give_up()
        if history.is_full:
            return
        number, *led = (
            self._met.setdefault(without_anchor(one), len(self._met)) for one in (url, *links)
        )
        self._links += len(led)
        history.add(Visit(number, page, can_stand, array("I", led), is_wall))

    def _is_replayed(self, prediction: Prediction) -> bool:
        """Return whether it will be known at the end where the pages of a rule on trial led."""
        rule = prediction.records[0].rule
        history = self._histories.get(rule.host)
        known = history is not None and not history.is_full and rule.edit.form is not Form.ALIAS
        return known and not prediction.acts

    def replay(self) -> None:
        """Learn from what rules would have predicted of all pages of this crawl, now that it is over."""
        urls = list(self._met)
        for host, history in self._histories.items():
            if not history.is_full and (
                rules := [one for one in self._of_host.get(host, ()) if _may_act(one)]
            ):
                self._replay(Replay(history, rules, lambda number: self._read(urls[number])))

    def _replay(self, replay: Replay) -> None:
        misled = {guess.record: guess for guess in replay.misled()}
        for record, guess in misled.items():
            pair = (guess.url, guess.page.url)
            wronged = _wronged(record, hash_of(guess.key), guess.key, pair, OTHER_LINKS, is_final=True)
            self._tally(record, wronged)
        for record, right in replay.right().items():
            if record not in misled:
                own = replace(record.own, replayed=min(right, REPLAYED), doubts=0)
                self._tally(record, own)

    # What was met

    def meet(self, urls: Iterable[str], predictions: Collection[Prediction] = ()) -> set[Prediction]:
        """Note *urls* that are requested; return the *predictions* by which one is new to this crawl."""
        new: set[Prediction] = set()
        for url in map(without_anchor, urls):
            if url in self._met:
                continue
            read = self._read(url)
            new.update(one for one in predictions if read is None or self._is_new(read, one))
            if self.is_full:
                continue
            self._met[url] = len(self._met)
            if read:
                host = read.parts.host
                self._met_on.setdefault(host, []).append(url)
                for name in _aliases(host, self._views):
                    self._views[name].meet(read)
        return new

    def _is_new(self, read: Reading, prediction: Prediction) -> bool:
        """Return whether a URL was not met yet, by the rules that act and the one that is tested."""
        host = read.parts.host
        if host not in self._acting:
            return True  # and it was not met as it is
        tested = None if prediction.acts else prediction.records[0].rule
        edit = tested.edit if tested and tested.host == host else None
        return not self._view(host).was_met(edit, read)

    def pages(self) -> Iterator[Page]:
        """Yield the pages that others need not be fetched for."""
        for pages in self._pages.values():
            yield from pages

    @property
    def is_full(self) -> bool:
        """Whether more was met than is remembered: then everything may look new."""
        return len(self._met) >= _MOST_MET

    # Views

    def _stand(self, read: Reading, page: Page) -> None:
        if self._standing >= _MOST_PAGES:
            return
        self._standing += 1
        self._pages.setdefault(read.parts.host, []).append(page)
        for name in _aliases(read.parts.host, self._views):
            self._views[name].stand(page, read)

    def _act_again(self, host: str, *, at_once: bool = True) -> None:
        """Note which rules of *host* predict; what is one more may wait, what is one less may not."""
        acting = [record for record in self._of_host[host] if record.state.predicts]
        self._acting.pop(host, None)
        if acting:
            self._acting[host] = acting
        for name in _aliases(host, self._views):
            self._views[name].is_behind = True
            if at_once:
                del self._views[name]

    def _view(self, host: str) -> View:
        view = self._views.get(host)
        if view is None or (view.is_behind and self._is_worth_it(view)):
            hosts = (host, *_bare(host))
            pages = (page for name in hosts for page in self._pages.get(name, ()))
            urls = (self._read(url) for name in hosts for url in self._met_on.get(name, ()))
            read = ((page, self._read(page.url)) for page in pages)
            view = self._views[host] = View(self._acting[host], read, urls)
            self._again += view.size
        return view

    def _is_worth_it(self, view: View) -> bool:
        """Return whether a view that is behind is made again now."""
        if self._again + view.size <= _MOST_AGAIN + _TIMES_AGAIN * len(self._met):
            return True
        return view.size >= 1.5 * view.made_at


def _wronged(
    record: RuleRecord,
    group: int,
    key: Parts,
    pair: tuple[str, str],
    reason: str,
    *,
    is_final: bool = False,
) -> Tally:
    if any(one.group == group for one in record.evidence.wrongs):
        return record.own
    is_final = is_final or not record.state.predicts
    return record.own.with_wrong(Wrong(group, patterns_for(key)[-1], *pair, reason, is_final))


def _has_its_turn(record: RuleRecord, run: int) -> bool:
    step = EARLY_STEP if record.evidence.withheld < EARLY_MATCHES else STEP
    return record.looks <= FIRST_LOOKS or (record.looks > step and (record.looks + run) % step == 0)


def _looked_at(key: Parts) -> tuple[int, int]:
    folder, place = places_of(key)
    return murmur3(folder), murmur3(place)


def _may_act(record: RuleRecord) -> bool:
    return record.state.predicts or record.state is State.CANDIDATE


def _bare(host: str) -> list[str]:
    """Return the hosts that *host* may be an alias of."""
    return [host.partition(".")[2]] if host.startswith(("www.", "m.", "mobile.")) else []


def _aliases(host: str, hosts: Collection[str]) -> list[str]:
    """Return *host* and its aliases, those that are among *hosts*."""
    names = (host, f"www.{host}", f"m.{host}", f"mobile.{host}")
    return [name for name in names if name in hosts]
