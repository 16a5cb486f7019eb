"""The figures of a report are those that plain loops over the rows give."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.printable import printable
from dedup.model.row import Glance
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome
from dedup.report.counts import NO_SITE, counts_of, site_of

HOSTS = ["a.example", "b.example:8080", "c.example"]


@st.composite
def lives(draw: st.DrawFn) -> list[Glance]:
    """Return the rows of some runs, of which some repeat an earlier one."""
    rows: list[Glance] = []
    for number in range(1, draw(st.integers(0, 30)) + 1):
        kept = [row.id for row in rows if row.kept]
        canonical = draw(st.sampled_from([None, *kept]))
        rows.append(
            Glance(
                id=number * 3,
                run=draw(st.integers(1, 3)),
                url=f"https://{draw(st.sampled_from(HOSTS))}/{number}",
                reason=draw(st.sampled_from(["exact_duplicate", "near_duplicate", "unchanged"]))
                if canonical
                else "new",
                kept=canonical is None,
                similarity=draw(st.sampled_from([0.0, 0.62, 0.98, 0.999, 1.0])) if canonical else None,
                lost=draw(st.sampled_from([None, 0, 4, 5, 199, 200, 10**6])) if canonical else None,
                missing=draw(st.sampled_from([None, 0, 3, 10**5])) if canonical else None,
                canonical=canonical,
                outcome=draw(st.sampled_from([Outcome.CONFIRMED, Outcome.CONFIRMED, Outcome.FORGOTTEN])),
            )
        )
    return rows


@given(lives())
def test_the_figures_are_those_of_plain_counting(rows: list[Glance]) -> None:
    counts = counts_of(rows)
    standing = [row for row in rows if row.outcome != "forgotten"]
    copies = [row for row in standing if not row.kept]
    assert (counts.answer.seen, counts.forgotten) == (len(standing), len(rows) - len(standing))
    assert (counts.answer.copies, len(counts.clusters().canonicals)) == (
        len(copies),
        len({row.canonical for row in copies}),
    )
    assert counts.by_reason == Counter(row.reason for row in standing)
    for shares, of in (
        (counts.by_site, lambda row: site_of(row.url)),
        (counts.by_run, lambda row: str(row.run)),
    ):
        assert {share.name: share.pages for share in shares} == Counter(map(of, standing))
        assert {share.name: share.duplicates for share in shares if share.duplicates} == Counter(
            map(of, copies)
        )


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://user:pass@Host.example:8080/a", "host.example"),
        ("http://a\u202eb/", "a\\u202eb"),
        ("http://[bad/", NO_SITE),
        ("", NO_SITE),
    ],
)
def test_a_report_shows_the_host_or_says_that_there_is_none(url: str, site: str) -> None:
    assert [site_of(url), site_of(url)] == [site, site]


@given(
    st.lists(
        st.text("ht:p/?#@[]ab.\\\n é", max_size=14).flatmap(
            lambda end: st.sampled_from([end, f"http://{end}"])
        )
    )
)
def test_the_site_of_a_url_depends_on_no_other_url(urls: list[str]) -> None:
    assert [site_of(url) for url in urls] == [printable(host_of(url)) or NO_SITE for url in urls]
