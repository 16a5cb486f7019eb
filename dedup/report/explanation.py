"""Why one page repeats another one, or does not: the numbers, and what the rule says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dedup.index import Row, Run
from dedup.recipes.config import DedupConfig
from dedup.report.overview import by_site, lost_sentence
from dedup.rule.keys import Keys
from dedup.rule.loss import LossVerifier, words_of
from dedup.rule.match import OUTRIGHT, match
from dedup.values.fingerprint import Fingerprint
from dedup.values.verdict import Match, Reason

# What the crawl decided stands on record; what follows this may differ.
_AGAIN = "Judged again now, by these two pages alone and by today's settings:"
# What became of duplicates, by the action of their run.
FATES = {"drop": "dropped", "skip": "dropped", "mark": "marked", "report": "let through"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a page stands to a canonical by the rule of today.

    *words* is how many words the page has, *keys* is what could make it a candidate, *bounds* are those
    of the rule, by the number of a `Check` that they limit; *reasons* are whole sentences.
    """

    match: Match
    words: int
    keys: Keys
    bounds: Mapping[str, float]
    reasons: tuple[str, ...]


def explain(
    canonical: Fingerprint, page: Fingerprint, config: DedupConfig, row: Row | None = None
) -> Explanation:
    """Return how *page* stands to *canonical*, as `dedup.rule.match.match` has it, and why.

    The two alone are compared.  *row* is that of *page* where it repeats *canonical*: what its site
    made of it is said as well.
    """
    matched, keys = match(canonical, page, config), Keys(canonical, page, config)
    decided = by_site(row, matched.check, config) if row else ""
    again = _AGAIN if row and row.verdict.reason is Reason.NEAR_DUPLICATE else ""
    reasons = _reasons(matched, keys, decided, again)
    return Explanation(matched, words_of(page), keys, LossVerifier(config).bounds, reasons)


def verdict_sentence(row: Row, run: Run | None) -> str:
    """Return what was decided about *row* when *run*, if it is known, saw it, as a sentence."""
    verdict = row.verdict
    fate = f"It was {FATES.get(run.action if run else '', 'dropped')}"
    if verdict.represents:
        return "It was kept in place of a page that it repeats and that its crawl had not met."
    return {
        Reason.NEW: "It was kept: by the rule it repeats no page that had been kept before.",
        Reason.UPDATED: "It was kept: in the last run this URL had another text.",
        Reason.UNCHANGED: f"{'It was kept' if verdict.kept else fate}: its text is the one that this "
        "URL had in the last run.",
        Reason.NOT_JUDGED: "It was kept: there was nothing in it to judge.",
        Reason.EXACT_DUPLICATE: f"{fate}: all its bytes are those of a page that was kept.",
        Reason.NEAR_DUPLICATE: f"{fate}: its text is nearly that of a page that was kept. "
        f"{lost_sentence(row)}",
    }[verdict.reason].rstrip()


def _reasons(matched: Match, keys: Keys, decided: str, again: str) -> tuple[str, ...]:
    if matched.check.finding in OUTRIGHT:
        return (matched.sentence,)
    begin = (again,) if again else ()
    end = "So it is a copy." if matched.is_duplicate else decided or "So it is no copy."
    return (*begin, *keys.sentences, matched.sentence, end)
