"""The rules for URLs in an index: as notes, one for each rule and one for what a run has seen of it.

So every store has them as it has its other notes.  A request not made because of a rule is recorded as
withheld (`dedup.values.row.Withheld`), with the rules in the place of its request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from dedup.index.stores.base import Note, Prefix, Query, Store, first
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import RuleStanding, Tally, Wrong
from dedup.urls.learner import RuleRecord
from dedup.urls.rule import Rule
from dedup.urls.views import Page
from dedup.values.row import Withheld
from dedup.values.urls import url_key
from dedup.values.verdict import Outcome

WITHHELD = "rule"
"""What is withheld because of a rule."""

_T = TypeVar("_T")
_RULE, _TALLY, _PAGES = "urls.rule.", "urls.tally.", "urls.pages."


class Seen(NamedTuple):
    """A rule, what persons and its site say of it, and what one run has seen."""

    rule: Rule
    standing: RuleStanding
    is_declared: bool
    tally: Tally


@dataclass(frozen=True, slots=True)
class WithheldRequest:
    """A request for *url* that was not made because of *rules*, given by their ids.

    *page* is the URL that shows the same, *row* its row; *request* is what Scrapy can rebuild it from,
    "" where that is not known; *size* is that of the page in bytes.  It *was_made* after all when a rule
    turned out to be wrong.
    """

    run: int
    row: int
    url: str
    page: str
    rules: tuple[str, ...]
    request: str = ""
    size: int = 0
    was_made: bool = False


def seen_of(record: RuleRecord) -> Seen:
    """Return what is stored of *record*."""
    return Seen(record.rule, record.standing, record.is_declared, record.own)


class UrlRules:
    """The rules in one *store*; every method is one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # Rules and what runs have seen of them

    def records(self, run: int = 0) -> list[RuleRecord]:
        """Return all rules; what *run* itself has seen is their own tally, so it can go on.

        What cannot be read is left out: it would be learned again.
        """
        with self._store.transaction(writing=False):
            notes = self._store.select(Note, name=Prefix(_RULE))
            tallies = self._tallies()
        found = {note.name.removeprefix(_RULE): _read(note.value, _rule_of) for note in notes}
        return [_record(*read, tallies.get(name, {}), run) for name, read in found.items() if read]

    def _tallies(self) -> dict[str, dict[int, Tally]]:
        tallies: dict[str, dict[int, Tally]] = {}
        for note in self._store.select(Note, name=Prefix(_TALLY)):
            run, _, rule = note.name.removeprefix(_TALLY).partition(".")
            tally = _read(note.value, _tally_of)
            if tally and run.isdecimal():
                tallies.setdefault(rule, {})[int(run)] = tally
        return tallies

    def save(self, run: int, seen: Iterable[Seen]) -> bool:
        """Store what *run* has seen of rules; return True."""
        notes = []
        for rule, standing, is_declared, tally in seen:
            name = rule.id
            notes.append(Note(f"{_RULE}{name}", _rule_text(rule, standing, is_declared)))
            notes.append(Note(_tally_name(run, name), _text(asdict(tally))))
        with self._store.transaction(writing=True):
            # What a person has said meanwhile stays.
            self._store.put(*notes[::2], renew=False)
            self._store.put(*notes[1::2])
        return True

    def set_standing(self, record: RuleRecord) -> None:
        """Store what a person says of a rule."""
        with self._store.transaction(writing=True):
            text = _rule_text(record.rule, record.standing, record.is_declared)
            self._store.put(Note(f"{_RULE}{record.rule.id}", text))

    def forget_run(self, run: int) -> None:
        """Forget what *run* has seen of rules, and what it has withheld."""
        with self._store.transaction(writing=True):
            self._store.delete(Note, name=Prefix(f"{_TALLY}{run:012}."))
            self._store.delete(Note, name=f"{_PAGES}{run:012}")
            self._store.delete(Withheld, run=run, what=WITHHELD)

    # What is withheld

    def withhold(self, held: WithheldRequest, rows: Iterable[int]) -> bool:
        """Record *held*, if its page is still there: all of *rows* are confirmed rows of its run.

        Returns whether that is so and nobody wants its page back; if not, the request must be made.
        """
        key, numbers = url_key(held.url), tuple(rows)
        with self._store.transaction(writing=True):
            stands = Query(ids=numbers, runs=frozenset((held.run,)), outcomes=(Outcome.CONFIRMED,))
            if not numbers or sum(1 for _ in self._store.rows(stands)) != len(numbers):
                return False
            if first(self._store.rows(Query(url_key=key, outcomes=(Outcome.RESTORED,), limit=1))):
                return False
            self._store.put(_withheld(held))
        return True

    def withheld_requests(self, run: int | None = None) -> list[WithheldRequest]:
        """Return what was withheld because of rules, by *run* or by all, in order."""
        fields: dict[str, Any] = {"what": WITHHELD} | ({} if run is None else {"run": run})
        return [held for one in self._store.select(Withheld, **fields) if (held := _held(one))]

    def note_made(self, held: Iterable[WithheldRequest]) -> None:
        """Record that requests were made after all."""
        with self._store.transaction(writing=True):
            self._store.put(*(_withheld(replace(one, was_made=True, request="")) for one in held))

    # Pages of a job that is paused

    def save_pages(self, run: int, pages: Iterable[Page]) -> None:
        """Store the pages that make other requests needless, until *run* goes on."""
        with self._store.transaction(writing=True):
            self._store.put(Note(f"{_PAGES}{run:012}", _text([list(page) for page in pages])))

    def take_pages(self, run: int) -> list[Page]:
        """Return the pages that `save_pages` has stored, and forget them."""
        with self._store.transaction(writing=True):
            notes = self._store.select(Note, name=f"{_PAGES}{run:012}")
            self._store.delete(Note, name=f"{_PAGES}{run:012}")
        return [page for note in notes for page in _read(note.value, _pages_of) or ()]


def _tally_name(run: int, rule: str) -> str:
    return f"{_TALLY}{run:012}.{rule}"


def _record(
    rule: Rule, standing: RuleStanding, is_declared: bool, tallies: Mapping[int, Tally], run: int
) -> RuleRecord:
    earlier = tuple(tallies[number] for number in sorted(tallies) if number != run)
    return RuleRecord(
        rule, earlier, tallies.get(run, Tally()), standing=standing, is_declared=is_declared
    )


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _rule_text(rule: Rule, standing: RuleStanding, is_declared: bool) -> str:
    host, edit, pattern = rule
    return _text([host, *edit, pattern, standing, is_declared])


def _read(text: str, make: Callable[[Any], _T]) -> _T | None:
    """Return what *make* makes of what stands in *text*, None where that cannot be read."""
    try:
        return make(json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _rule_of(found: Any) -> tuple[Rule, RuleStanding, bool]:
    host, form, name, value, pattern, standing, is_declared = found
    if not all(isinstance(one, str) for one in (host, name, value, pattern)):
        raise TypeError
    rule = Rule(host, Edit(Form(form), name, value), pattern)
    return rule, RuleStanding(standing), is_declared is True


def _tally_of(found: Any) -> Tally:
    return Tally(
        groups=tuple((int(key), int(of)) for key, of in found["groups"]),
        right=tuple(map(int, found["right"])),
        since=int(found["since"]),
        rights=int(found["rights"]),
        wrongs=tuple(_wrong_of(one) for one in found["wrongs"]),
        unclear=int(found["unclear"]),
        withheld=int(found["withheld"]),
        is_declared=found["is_declared"] is True,
        examples=tuple((str(one), str(other)) for one, other in found["examples"]),
        replayed=int(found.get("replayed", 0)),
        doubts=int(found.get("doubts", 0)),
        is_crowded=found.get("is_crowded") is True,
        looks=tuple((int(one), int(two), int(count)) for one, two, count in found.get("looks", ())),
    )


def _wrong_of(found: Mapping[str, Any]) -> Wrong:
    path, url, other, reason = (str(found[name]) for name in ("path", "url", "other", "reason"))
    return Wrong(int(found["group"]), path, url, other, reason, found["is_final"] is True)


def _withheld(held: WithheldRequest) -> Withheld:
    about = {
        "rules": held.rules,
        "page": held.page,
        "size": held.size,
        "made": held.was_made,
        "request": held.request,
    }
    return Withheld(held.row, held.url, WITHHELD, _text(about), held.run)


def _held(one: Withheld) -> WithheldRequest | None:
    return _read(one.request, partial(_request_of, one))


def _request_of(one: Withheld, about: Any) -> WithheldRequest:
    return WithheldRequest(
        *(one.run, one.row, one.url),
        page=str(about["page"]),
        rules=tuple(map(str, about["rules"])),
        request=str(about["request"]),
        size=int(about["size"]),
        was_made=about["made"] is True,
    )


def _pages_of(found: Any) -> list[Page]:
    return [
        Page(str(url), tuple(map(int, content)), tuple(map(int, rows)), str(signature), int(size))
        for url, content, rows, signature, size in found
    ]
