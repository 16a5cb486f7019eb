"""An explanation measures what the rule measures, and its words say what the rule did."""

from __future__ import annotations

from random import Random

import pytest

from dedup import DedupConfig, Detector, MemoryIndex, fingerprint
from dedup.report.explanation import (
    explain,
    verdict_sentence,
)
from dedup.rule import loss
from tests.pages import edited, page, text
from tests.rule.test_records import words


@pytest.mark.parametrize(
    ("config", "other", "sentence"),
    [
        ({}, edited(1), "at most 10 are allowed: that makes a candidate."),
        ({"max_distance": 0}, edited(1, 40), "at most 0 are allowed: that makes no candidate."),
        ({}, "", "Not both pages have a content simhash."),
        ({}, edited(1), "The pages share 0.98 of their shingles, at least 0.62 is asked for."),
        ({}, text(2), "The pages share 0.00 of their shingles, at least 0.62 is asked for."),
    ],
)
def test_reasons(config: dict[str, object], other: str, sentence: str) -> None:
    chosen = DedupConfig(**config)  # type: ignore[arg-type]
    found = explain(fingerprint(page(text(1)), chosen), fingerprint(page(other), chosen), chosen)
    assert any(sentence in reason for reason in found.reasons), found.reasons


def test_what_the_crawl_decided_is_on_record_and_a_new_judgement_is_called_one() -> None:
    index, frame = MemoryIndex(), text(1, 60)
    article = words(Random(500), 480).split()
    edit = [*article[:300], *words(Random(501), 25).split(), *article[325:]]
    with Detector(index) as detector:
        for number in range(30):
            detector.check(page(f"{frame} {text(number + 2, 300)}", f"http://a/{number}"))
        kept = detector.check(page(f"{frame} {' '.join(article)}", "http://a/article"))
        copy = detector.check(page(f"{frame} {' '.join(edit)}", "http://a/edit"))
    assert (copy.kept, copy.finding, copy.site_pages) == (False, loss.OWN, 31)
    row, canonical = index.row(copy.row or 0), index.row(kept.row or 0)
    found = row.verdict
    assert (found.finding, found.site_pages) == (copy.finding, 31)
    recorded = verdict_sentence(row, None)
    assert "31 kept pages of the site were known" in recorded
    prints = canonical.sighting.fingerprint, row.sighting.fingerprint
    again = explain(*prints, DedupConfig(), row).reasons
    assert again[0].startswith("Judged again now, by these two pages alone")
    assert again[1:] == explain(*prints, DedupConfig()).reasons
