"""The rules for URLs in an HTML report: those that matter, and what they withheld."""

from __future__ import annotations

from typing import NamedTuple

from dedup.index import Index
from dedup.index.url_rules import UrlRules
from dedup.urls.evidence import State
from dedup.urls.learner import RuleRecord
from dedup.values.printable import printable

_SHOWN = (State.ACTIVE, State.SUSPENDED, State.RETIRED, State.TRIAL, State.CANDIDATE, State.OFF)
MOST_RULES, MOST_URLS = 200, 500


class ShownRules(NamedTuple):
    """Rules as rows of a table, and URLs that were withheld, each with the page that it repeats.

    *more_rules* and *more_urls* say how many are left out.
    """

    rules: list[tuple[str, ...]]
    urls: list[tuple[str, str]]
    more_rules: int
    more_urls: int


def shown_rules(index: Index) -> ShownRules:
    """Return what a report shows of the rules of *index*; all text is safe to show."""
    book = UrlRules(index.store)
    records = [record for record in book.records() if record.state in _SHOWN]
    records.sort(key=lambda one: (_SHOWN.index(one.state), -one.evidence.groups, one.rule))
    held = [one for one in book.withheld_requests() if not one.was_made]
    return ShownRules(
        [_row(record) for record in records[:MOST_RULES]],
        [(printable(one.url), printable(one.page)) for one in held[:MOST_URLS]],
        max(0, len(records) - MOST_RULES),
        max(0, len(held) - MOST_URLS),
    )


def _row(record: RuleRecord) -> tuple[str, ...]:
    seen = record.evidence
    example = " = ".join(map(printable, seen.examples[0])) if seen.examples else ""
    against = "; ".join(f"{printable(one.url)} ≠ {printable(one.other)}" for one in seen.wrongs[:1])
    numbers = (seen.groups, seen.rights, len(seen.wrongs), seen.withheld)
    host = printable(record.rule.host)
    return (record.state.value, host, record.rule.words, *map(str, numbers), against or example)
