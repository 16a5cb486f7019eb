"""A `Query` as SQL: its conditions on a row `p` of the table `pages`, and what they take.

Some conditions say more than they need to, so that SQLite sees that a partial index has the rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from dedup.index.stores.base import Order, Query
from dedup.values.verdict import Outcome

# The conditions up to this one are bound to a statement, the others are part of it.
_BOUND = Query._fields.index("limit")
_IDS, _GROUP = Query._fields.index("ids"), Query._fields.index("group")
_NONE, _FILLED, _EMPTY, _ONE = range(4)

_ORDERS = {
    Order.OLDEST: "p.id",
    Order.NEWEST: "p.id DESC",
    Order.LAST_RUN: "p.run DESC, p.id",
}
# Looked up in indexes that begin with the scope; those of texts leave empty ones out.
_TEXTS = ("url_key", "item_key")
_BY_SCOPE = (*_TEXTS, "body_digest", "token_digest")
_CONDITIONS = {
    "ids": "p.id IN (SELECT value FROM json_each(?))",
    "after": "p.id > ?",
    "before": "p.id < ?",
    "group": "p.scope = ?",
    "url_key": "p.url_key = ? AND p.url_key != ''",
    "item_key": "p.item_key = ? AND p.item_key != ''",
    "body_digest": "p.body_digest = ?",
    "token_digest": "p.token_digest = ?",
    "canonical": "p.canonical = ?",
    "previous": "p.previous = ?",
    "represents": "p.represents = ?",
    "before_run": "p.run < ?",
    "unseen_since": "p.time < ? AND NOT EXISTS (SELECT 1 FROM pages r WHERE r.canonical = p.id "
    "AND r.time >= ? AND r.outcome != 'forgotten')",
    "text": "(instr(lower(p.url), lower(?)) OR instr(lower(p.title), lower(?)))",
}
_FLAGS = {
    "kept": "p.kept",
    "listed": "p.listed",
    "replaces": "p.replaces IS NOT NULL",
    "elsewhere": "p.is_elsewhere",
    "met_again": "p.reason = 'unchanged' AND p.canonical = p.previous "
    "AND p.outcome IN ('confirmed', 'pending')",
}


def numbers(values: Iterable[int]) -> str:
    """Return *values* as SQL takes them behind ``IN``; for those that are the same page after page."""
    return f"({','.join(map(str, sorted(values)))})"


def dry_runs_condition(runs: Iterable[int], table: str = "") -> str:
    """Return the condition on rows of dry runs: that there are none, or only of these *runs*."""
    own = f" OR {table}run IN {numbers(runs)}" if runs else ""
    return f"(NOT {table}is_dry{own})"


def _outcomes(outcomes: tuple[Outcome, ...]) -> str:
    among = f"p.outcome IN ({','.join(repr(str(outcome)) for outcome in outcomes)})"
    return among if Outcome.CONFIRMED in outcomes else f"p.outcome != 'confirmed' AND {among}"


_PARTS: dict[str, Callable[[Any], str]] = {
    "runs": lambda runs: f"p.run IN {numbers(runs)}",
    "not_runs": lambda runs: f"p.run NOT IN {numbers(runs)}",
    "dry_runs": lambda runs: dry_runs_condition(runs, "p."),
    "outcomes": _outcomes,
    **{
        name: lambda holds, text=text: text if holds else f"NOT ({text})"
        for name, text in _FLAGS.items()
    },
}


def condition(query: Query, scope: int) -> tuple[str, list[Any]]:
    """Return the condition of *query* and what it takes; *scope* is the number of its group, if any."""
    bound = list(query[:_BOUND])
    shape = [_NONE if one is None else _FILLED if one else _EMPTY for one in bound]
    if query.ids is not None:
        is_one = len(query.ids) == 1
        shape[_IDS] = _ONE if is_one else _FILLED
        bound[_IDS] = query.ids[0] if is_one else json.dumps(query.ids)
    bound[_GROUP] = scope
    text, places = _condition(tuple(shape), query[_BOUND + 1 : -1])
    return text, [bound[place] for place in places]


def clause(query: Query, scope: int) -> tuple[str, list[Any]]:
    """Return all that stands behind the tables of a SELECT: ``WHERE``, ``ORDER BY`` and ``LIMIT``."""
    text, values = condition(query, scope)
    order = _ORDERS[query.order]
    if query.group is None and any(getattr(query, name) for name in _BY_SCOPE):
        order = f"+{order}"  # else SQLite would read all rows in this order until there are enough
    if query.limit is None:
        return f"WHERE {text} ORDER BY {order}", values
    return f"WHERE {text} ORDER BY {order} LIMIT ?", [*values, query.limit]


@lru_cache(maxsize=2048)
def _condition(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[str, tuple[int, ...]]:
    """Return the condition, and the places of what it takes, of queries of one shape."""
    texts: list[str] = []
    places: list[int] = []
    for place, (name, kind) in enumerate(zip(Query._fields, shape, strict=False)):
        if kind == _EMPTY and name in _TEXTS:
            texts.append(f"p.{name} = ''")
        elif kind == _ONE:
            texts.append("p.id = ?")
            places.append(place)
        elif kind != _NONE:
            texts.append(_CONDITIONS[name])
            places += [place] * texts[-1].count("?")
    for name, value in zip(Query._fields[_BOUND + 1 : -1], parts, strict=True):
        if value is not None:
            texts.append(_PARTS[name](value))
    filled = {name for name, kind in zip(Query._fields, shape, strict=False) if kind == _FILLED}
    if "group" not in filled and filled & set(_BY_SCOPE):
        texts.append("p.scope IN (SELECT id FROM scopes)")
    return " AND ".join(texts) or "1", tuple(places)
