"""A `Query` as SQL: its conditions on a row `p` of the table `pages`, and what they take.

Some conditions say more than they need to, so that SQLite sees that a partial index has the rows.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

from dedup.index.files import Damaged
from dedup.index.rows import Order, Pool, Query
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import nearness
from dedup.rule.similarity import may_pass
from dedup.values.fingerprint import Fingerprint
from dedup.values.verdict import Candidates, Canonical, Outcome

# The conditions up to this one are bound to a statement, the others are part of it.
_BOUND = Query._fields.index("limit")
_IDS, _GROUP = Query._fields.index("ids"), Query._fields.index("group")
_NONE, _FILLED, _EMPTY, _ONE = range(4)

_ORDERS = {Order.OLDEST: "p.id", Order.NEWEST: "p.id DESC", Order.LAST_RUN: "p.run DESC, p.id DESC"}
# In the place of an empty list: nothing is among these.
_NO_NUMBER, _NO_TEXT = "SELECT 0 WHERE FALSE", "SELECT '' WHERE FALSE"
# Looked up in indexes that begin with the scope; those of texts leave empty ones out.
_TEXTS = ("url_key", "item_key")
_BY_SCOPE = (*_TEXTS, "body_digest", "token_digest")
_CONDITIONS = {
    "ids": "p.id IN (SELECT value FROM json_each(?))",
    "after": "p.id > ?",
    "group": "p.scope = ?",
    "url_key": "p.url_key = ? AND p.url_key != ''",
    "item_key": "p.item_key = ? AND p.item_key != ''",
    "body_digest": "p.body_digest = ?",
    "token_digest": "p.token_digest = ?",
    "canonical": "p.canonical = ?",
    "previous": "p.previous = ?",
    "cluster": "p.represents = ?",
    "before_run": "p.run < ?",
    "unseen_since": "p.time < ? AND NOT EXISTS (SELECT 1 FROM pages r WHERE r.canonical = p.id "
    "AND r.time >= ? AND r.outcome != 'forgotten')",
}


def _unsettled(outcomes: Collection[Outcome]) -> str:
    return f"p.outcome != 'confirmed' AND p.outcome IN {_names(outcomes)}"


def _names(outcomes: Iterable[Outcome]) -> str:
    return f"({','.join(sorted(repr(str(outcome)) for outcome in outcomes)) or _NO_TEXT})"


_FLAGS = {
    "kept": "p.kept",
    "listed": "p.listed",
    "replaces": "p.replaces IS NOT NULL",
    "represents": "p.represents IS NOT NULL",
    "elsewhere": "p.is_elsewhere",
    "met_again": "p.reason = 'unchanged' AND p.canonical = p.previous "
    "AND p.outcome IN ('confirmed', 'pending')",
}


def numbers(values: Iterable[int]) -> str:
    """Return *values* as SQL takes them after ``IN``; for those that are the same page after page."""
    return f"({','.join(map(str, sorted(values))) or _NO_NUMBER})"


def dry_runs_condition(runs: Iterable[int], table: str = "") -> str:
    """Return the condition on rows of dry runs: that there are none, or only of these *runs*."""
    own = f" OR {table}run IN {numbers(runs)}" if runs else ""
    return f"(NOT {table}is_dry{own})"


_PARTS: dict[str, Callable[[Any], str]] = {
    "not_runs": lambda runs: f"p.run NOT IN {numbers(runs)}",
    "dry_runs": lambda runs: dry_runs_condition(runs, "p."),
}


class _Compiled(NamedTuple):
    """The condition of all queries of one shape, the clauses around it, and what it takes."""

    condition: str
    clauses: str
    places: tuple[int, ...]


def condition(query: Query, scope: int) -> tuple[str, list[Any]]:
    """Return the condition of *query* and what it takes; *scope* is the number of its group, if any."""
    compiled, values = _filled(query, scope)
    return compiled.condition, values


def clauses(query: Query, scope: int, limit: int | None) -> tuple[str, list[Any]]:
    """Return all that follows the tables of a SELECT: ``WHERE``, ``ORDER BY`` and ``LIMIT``."""
    compiled, values = _filled(query, scope)
    values.append(-1 if limit is None else limit)
    return compiled.clauses, values


def _filled(query: Query, scope: int) -> tuple[_Compiled, list[Any]]:
    bound = list(query[:_BOUND])
    shape = [_NONE if one is None else _FILLED if one else _EMPTY for one in bound]
    if query.ids is not None:
        is_one = len(query.ids) == 1
        shape[_IDS] = _ONE if is_one else _FILLED
        bound[_IDS] = query.ids[0] if is_one else json.dumps(query.ids)
    bound[_GROUP] = scope
    compiled = _compiled(tuple(shape), query[_BOUND + 1 :])
    return compiled, [bound[place] for place in compiled.places]


@lru_cache(maxsize=2048)
def _compiled(shape: tuple[int, ...], parts: tuple[Any, ...]) -> _Compiled:
    kinds = dict(zip(Query._fields, shape, strict=False))
    given = dict(zip(Query._fields[_BOUND + 1 :], parts, strict=True))
    order = given.pop("order")
    texts: list[str] = []
    places: list[int] = []
    for place, (name, kind) in enumerate(kinds.items()):
        if kind != _NONE:
            texts.append(_bound_text(name, kind))
            places += [place] * texts[-1].count("?")
    texts += [_text(name, part, kinds, given) for name, part in given.items() if part is not None]
    is_anywhere = kinds["group"] == _NONE and any(kinds[name] == _FILLED for name in _BY_SCOPE)
    if is_anywhere:
        texts.append("p.scope IN (SELECT id FROM scopes)")
    # The sign keeps SQLite from reading another index, in this order, until there are enough.
    sign = "+" if is_anywhere or (given["met_again"] and order is not Order.LAST_RUN) else ""
    text = " AND ".join(texts) or "TRUE"
    return _Compiled(text, f"WHERE {text} ORDER BY {sign}{_ORDERS[order]} LIMIT ?", tuple(places))


def _bound_text(name: str, kind: int) -> str:
    if kind == _ONE:
        return "p.id = ?"
    return f"p.{name} = ''" if kind == _EMPTY and name in _TEXTS else _CONDITIONS[name]


def _text(name: str, part: Any, kinds: Mapping[str, int], given: Mapping[str, Any]) -> str:
    if name in _FLAGS:
        return _FLAGS[name] if part else f"({_FLAGS[name]}) IS NOT TRUE"
    if name == "runs":
        # A run may have all rows there are; few repeat one page, few are in a rare outcome.
        is_rare = given["outcomes"] and Outcome.CONFIRMED not in given["outcomes"]
        is_few = is_rare or (kinds["canonical"] and not given["met_again"])
        return f"{'+' if is_few else ''}p.run IN {numbers(part)}"
    if name == "outcomes":
        is_common = Outcome.CONFIRMED in part
        return f"p.outcome IN {_names(part)}" if is_common else _unsettled(part)
    return _PARTS[name](part)


# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
NOTHING = Candidates((), 0)

# A row's number and sketch: most rows are ruled out by the sketch, and nothing else of them is read.
Sketched = tuple[int, bytes]


@dataclass(slots=True)
class Searching(ABC):
    """What in *pool* may be the canonical of *page*; a store says how it is found."""

    page: Fingerprint
    pool: Pool
    config: DedupConfig
    _seen: set[int] = field(init=False, default_factory=set)

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        yield from map(self._taken, self.equal())
        yield from map(self._near, self.near())

    @abstractmethod
    def equal(self) -> Iterator[list[Canonical]]:
        """Yield the oldest canonicals with the same bytes, then those with the same tokens."""

    @abstractmethod
    def near(self) -> Iterator[Iterable[Sketched]]:
        """Yield canonicals that the keys of the page lead to, in batches, those of each in no order."""

    @abstractmethod
    def of_rows(self, rows: list[int]) -> list[Canonical]:
        """Return the canonicals of those numbers, in no order."""

    def _taken(self, found: list[Canonical]) -> Candidates:
        if not found:
            return NOTHING
        self._seen.update(canonical.id for canonical in found)
        return Candidates(self._ordered(found), len(found))

    def _near(self, found: Iterable[Sketched]) -> Candidates:
        """Return those not seen before that their sketches do not rule out; mostly there are none."""
        new = [(row, sketch) for row, sketch in found if row not in self._seen]
        if not new:
            return NOTHING
        self._seen.update(row for row, _ in new)
        try:
            passing = may_pass(self.page, [sketch for _, sketch in new])
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        rows = [row for row, _ in compress(new, passing)]
        canonicals = [
            canonical
            for start in range(0, len(rows), _BATCH)
            for canonical in self.of_rows(rows[start : start + _BATCH])
        ]
        return Candidates(self._ordered(canonicals), len(new))

    def _ordered(self, found: list[Canonical]) -> list[Canonical]:
        page = self.page
        return sorted(found, key=lambda canonical: nearness(page, canonical))
