"""A crawl with an index in which bits have flipped: it is refused in one line, or no page is lost.

`tests/faults/test_damage.py` asks a damaged index itself, `tests/fuzz/test_damage.py` the commands.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import Detector, SQLiteIndex
from tests.attacks.crawling import crawled
from tests.fuzz.commands import run
from tests.pages import edited, page, text

REPEATED, UNIQUE, BYSTANDERS = range(4), range(4, 8), range(100, 160)
COPIES = 50
REFUSALS = ("CannotBegin(", "IndexMismatch(", "IndexUnavailable(")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that knows some pages which the crawl repeats, and others."""
    path = tmp_path_factory.mktemp("sound") / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, spider="items") as detector:
        for number in [*BYSTANDERS, *REPEATED]:
            detector.check(page(text(number), f"http://known/{number}"), kind="item")
            detector.check(page(edited(number), f"http://known/{number}/again"), kind="item")
    return path


def flipped(content: bytes, rng: Random) -> bytes:
    """Return *content* with some bits flipped, or a few bytes overwritten."""
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 3, 20, 100])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        place = rng.randrange(len(damaged))
        damaged[place : place + 64] = rng.randbytes(len(damaged[place : place + 64]))
    return bytes(damaged)


def crawl_with(index: Path) -> dict[str, Any]:
    items = [
        {"url": f"http://new/{number}", "content": number, "html": f"<body><p>{edited(number, 2)}</p>"}
        for number in [*REPEATED, *UNIQUE]
    ]
    return {
        "spider": "tests.plugin.spiders.RecordSpider",
        "arguments": {"items": json.dumps(items)},
        "settings": {"ADDONS": {"dedup.plugin.Addon": 500}, "DEDUP_INDEX": str(index)},
    }


def contents(done: dict[str, Any]) -> list[int]:
    return sorted(item["content"] for item in done["items"])


def test_the_sound_index_drops_what_is_repeated(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "pages.db"))
    (done,) = crawled(tmp_path, [crawl_with(path)])
    assert contents(done) == list(UNIQUE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_damage_loses_a_page(sound: Path, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    paths = [tmp_path / f"pages{number}.db" for number in range(COPIES)]
    for path in paths:
        path.write_bytes(flipped(sound.read_bytes(), rng))
    refused = 0
    for path, done in zip(paths, crawled(tmp_path, [crawl_with(path) for path in paths]), strict=True):
        # A flip in the name or value of a recipe makes it another recipe.
        refused += (was_refused := done["error"].startswith(REFUSALS))
        assert was_refused or not done["error"], (path, done)
        assert was_refused or set(UNIQUE) <= set(contents(done)), (path, done)
        assert len(contents(done)) == len(set(contents(done)))
        for command in ("check", "report"):
            told = run(command, str(path))
            assert len(told.stderr.splitlines()) <= 1, (path, told.stderr)
    assert refused < COPIES / 2
