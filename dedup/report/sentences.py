"""What an HTML report says in words; its figures come from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from dedup import __version__
from dedup.recipes.config import DedupConfig
from dedup.report.answer import counted
from dedup.report.contents import MAX_TEXT_PAIRS, Contents
from dedup.report.explanation import FATES
from dedup.report.overview import Overview
from dedup.report.shown import MAX_CHARACTERS, MAX_MEMBERS
from dedup.report.side_by_side import MAX_TEXT
from dedup.rule.keys import ways
from dedup.rule.verifier import verifier_of
from dedup.values.match import Check, Match
from dedup.values.printable import moment, printable
from dedup.values.verdict import Reason

# So many sites are listed.
MAX_SITES = 1000

MEANINGS = {
    Reason.NEW: "kept: no page like it was known",
    Reason.EXACT_DUPLICATE: "another page has the same bytes",
    Reason.NEAR_DUPLICATE: "another page has nearly the same text",
    Reason.CANONICAL_LINK: "it names another page as its canonical (rel=canonical)",
    Reason.UNCHANGED: "an earlier crawl saw the same text at this URL",
    Reason.UPDATED: "kept: an earlier crawl saw another text at this URL",
    Reason.NOT_JUDGED: "kept: there was nothing to judge",
}


def headline(overview: Overview) -> str:
    """Return the first sentence of a report."""
    return (
        f"Of {counted(overview.pages, 'page')} seen, {overview.duplicates:,} ({overview.share:.1%}) "
        f"{'is a copy' if overview.duplicates == 1 else 'are copies'}, in "
        f"{counted(overview.clusters, 'cluster')}."
    )


def tiles(overview: Overview) -> list[tuple[str, str]]:
    """Return the totals, each with its name."""
    return [
        ("pages seen", f"{overview.pages:,}"),
        ("kept", f"{overview.pages - overview.duplicates:,}"),
        ("copies", f"{overview.duplicates:,}"),
        ("share of copies", f"{overview.share:.1%}"),
        _tile("cluster", overview.clusters),
        _tile("site", len(overview.sites)),
        _tile("run", len(overview.runs)),
    ]


def _tile(noun: str, number: int) -> tuple[str, str]:
    value, name = counted(number, noun).split(" ")
    return name, value


def rule(config: DedupConfig) -> str:
    """Return what makes a page a duplicate."""
    return f"Candidates are pages {' or '.join(ways(config))}. {_confirmation(config)}"


def _confirmation(config: DedupConfig) -> str:
    asked = verifier_of(config).rule
    return f"They are copies if they {asked}." if asked else "All candidates are copies."


def why(reason: Reason, check: Check, on_record: str = "") -> str:
    """Return why a page is a copy, as *check* has it, which compares the two pages alone.

    Where they alone, or the settings of the report, would not make it one, the reason is the one that
    is *on_record* (`dedup.report.losses.on_record`): it was the reason of the crawl.
    """
    if reason is Reason.NEAR_DUPLICATE and not check.passes and on_record:
        return on_record
    return Match(reason, check).sentence


def facts(contents: Contents) -> list[tuple[str, str]]:
    """Return what a report was made of, each fact with its name."""
    choices = contents.choices
    return [
        ("Index", printable(choices.name)),
        *([("Judged again", choices.note)] if choices.note else []),
        ("Written", f"{moment(datetime.now(UTC).timestamp())} UTC by scrapy-dedup {__version__}"),
        ("Rule", rule(choices.config)),
        ("Best of a cluster", choices.keep),
        ("Forgotten rows", f"{contents.overview.forgotten:,}, left out of everything"),
    ]


def left_out(contents: Contents) -> Iterator[str]:
    """Yield what a report does not show, or shows in part."""
    overview = contents.overview
    if contents.left_out:
        yield (
            f"{contents.left_out:,} of {overview.duplicates:,} copies are counted in the figures "
            f"but not listed. The file lists the {len(contents.clusters):,} largest of "
            f"{overview.clusters:,} clusters (at most {contents.choices.max_pages:,} pages and "
            f"{MAX_CHARACTERS:,} characters), and the first {MAX_MEMBERS:,} copies of each."
        )
    if len(overview.sites) > MAX_SITES:
        yield (f"Of {len(overview.sites):,} sites, the {MAX_SITES:,} with the most copies are listed.")
    if contents.texts:
        yield (
            f"The texts of {len(contents.texts):,} pairs can be compared (at most {MAX_TEXT_PAIRS} "
            f"pairs, the first {MAX_TEXT:,} characters of each text)."
        )
    elif overview.duplicates:
        yield "No texts can be compared, because the texts of the pages are not stored."


def fate(action: str) -> str:
    """Return what became of the duplicates of a run that had this *action*."""
    return FATES.get(action, printable(action))
