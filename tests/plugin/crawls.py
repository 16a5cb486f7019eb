"""Crawls of items that are listed, and what became of them; tests of what a loop does."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from click.testing import CliRunner

from dedup import SQLiteIndex
from dedup.cli import main
from dedup.model.verdict import Outcome, Row
from tests.support import crawling
from tests.support.crawling import Crawl, crawl

ITEMS = "tests.plugin.spiders.ItemSpider"
_P = ParamSpec("_P")


def asynchronous(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Run a test in a loop of its own."""

    @wraps(test)
    def run(*given: _P.args, **named: _P.kwargs) -> None:
        asyncio.run(test(*given, **named))

    return run


def item(number: int, content: str, **fields: Any) -> dict[str, Any]:
    return {"url": f"http://a/{number}", "text": content, **fields}


def listed(*items: Any) -> dict[str, str]:
    """Return the argument of a spider that yields *items*."""
    return {"items": json.dumps(items)}


def items(folder: Path, *found: Any, spider: str = "ItemSpider", **settings: Any) -> Crawl:
    return crawl(folder, f"tests.plugin.spiders.{spider}", settings, listed(*found))


def urls(done: Crawl) -> list[str]:
    return [str(found["url"]) for found in done.items]


def rows(folder: Path) -> list[Row]:
    with SQLiteIndex(folder / "pages.db") as index:
        assert index.problems() == []
        return list(index.rows())


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {row.sighting.url: row.outcome for row in rows(folder)}


def dedup(folder: Path, *arguments: str) -> str:
    """Return what the command line prints about the index in *folder*."""
    done = CliRunner().invoke(main, [*arguments, crawling.index_of(folder)])
    assert done.exit_code == 0, done.output
    return done.stdout
