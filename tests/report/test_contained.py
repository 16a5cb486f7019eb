"""What is near, but kept, is told: which page holds how much of which."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from dedup import Detector, MemoryIndex, Page, SQLiteIndex
from dedup.cli import main
from dedup.index import Index
from dedup.report.contained import LEAST_SHARE, contained
from tests.dedup.rule.test_records import words


def in_another_frame(rng: Random) -> tuple[str, str]:
    article = words(rng, 360)
    return f"{words(rng, 120)} {article}", f"{article} {words(rng, 120)}"


def in_another_order(rng: Random) -> tuple[str, str]:
    sentences = [words(rng, rng.randrange(8, 25)) for _ in range(28)]
    shuffled = rng.sample(sentences, len(sentences))
    return ". ".join(sentences), ". ".join(shuffled)


def badly_read(rng: Random) -> tuple[str, str]:
    article = words(rng, 450).split()
    return " ".join(article), " ".join(word if rng.random() > 0.02 else f"{word}x" for word in article)


def in_a_longer_text(rng: Random) -> tuple[str, str]:
    article = words(rng, 300)
    return article, f"{words(rng, 100)} {article} {words(rng, 60)}"


def different(rng: Random) -> tuple[str, str]:
    shared = words(rng, 140)
    return f"{shared} {words(rng, 300)}", f"{words(rng, 300)} {shared}"


def crawled(index: Index, pairs: list[tuple[str, str]]) -> list[tuple[int, int] | None]:
    """Return the rows of each pair, None where the second page was dropped; there are other pages, too."""
    frame, rng, rows = words(Random(1), 120), Random(2), list[tuple[int, int] | None]()
    with Detector(index) as detector:
        for number in range(20):
            url = f"http://a.example/other/{number}"
            detector.check(Page.from_html(f"<p>{frame} {words(rng, 200)}", url=url))
        for number, pair in enumerate(pairs):
            one, other = (
                detector.check(
                    Page.from_html(f"<p>{frame} {content}", url=f"http://a.example/{side}/{number}")
                )
                for side, content in enumerate(pair)
            )
            rows.append((one.row or 0, other.row or 0) if other.kept else None)
    return rows


@pytest.mark.parametrize(
    ("pair", "least", "most"),
    [
        (in_another_frame, 0.9, 1),
        (in_another_order, 0.9, 1),
        (badly_read, 0.9, 1),
        (in_a_longer_text, 0.9, 1),
        (different, 0, 0),
    ],
)
def test_pages_that_hold_most_of_another_one_are_found(pair: object, least: float, most: float) -> None:
    assert callable(pair)
    rng = Random(3)
    with MemoryIndex() as index:
        pairs = crawled(index, [pair(rng) for _ in range(30)])
        found = {frozenset(each[:2]): each for each in contained(index.rows())}
    share = sum(rows is None or frozenset(rows) in found for rows in pairs) / 30
    assert least <= share <= most
    assert all(LEAST_SHARE <= each.share <= 1 for each in found.values())
    if pair is in_a_longer_text:
        assert all(each.page < each.by for each in found.values())


def test_records_whose_numbers_are_others_are_not() -> None:
    text = words(Random(5), 300)
    with MemoryIndex() as index, Detector(index) as detector:
        for year in (2024, 2025):
            page = f"<title>{year}</title><p>{text} in {year} with {year * 3} of {year * 7}"
            assert detector.check(Page.from_html(page, url=f"http://a.example/{year}")).kept
        assert contained(index.rows()) == []


def test_reports_tell_it(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        (rows,) = crawled(index, [in_a_longer_text(Random(7))])
        (found,) = contained(index.rows())
    assert rows == (found.page, found.by)
    told = CliRunner().invoke(main, ["report", str(path), "--all"]).output
    assert "1 page kept, most of which another kept page holds" in told
    assert f"http://a.example/1/0\n    holds {found.share:.0%} of http://a.example/0/0" in told
    assert "holds" not in CliRunner().invoke(main, ["report", str(path)]).output
    document = json.loads(CliRunner().invoke(main, ["report", str(path), "--format", "json"]).stdout)
    assert document["contained"] == [
        {"url": "http://a.example/0/0", "in": "http://a.example/1/0", "share": round(found.share, 4)}
    ]
