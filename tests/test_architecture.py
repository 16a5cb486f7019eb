"""Imports go down only, and each library has one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The floors of the house, the lowest first; a module may import from its own floor and below.
FLOORS = (
    {"native", "values"},
    {"reading"},
    {"recipes"},
    {"rule", "urls"},
    {"index"},
    {"algorithms", "archives", "files", "report"},
    {"front"},
    {"cli", "plugin"},
)
# Where a library may be imported; any of dedup's modules may import what is not named here.
PLACES = {
    "scrapy": ("plugin/",),
    "itemadapter": ("reading/fields", "plugin/"),
    "twisted": ("plugin/",),
    "sqlite3": ("index/", "algorithms/blocks"),
    "click": ("cli/",),
    "jieba": ("reading/dictionary",),
    "rjieba": ("reading/dictionary",),
    "lxml": ("native/", "reading/compiled", "reading/floods", "reading/page", "reading/walk"),
    "bs4": ("reading/charset",),
    "fastwarc": ("files/feeds/warc",),
    "jinja2": ("report/html",),
    "markupsafe": ("report/html",),
    "multiprocessing": ("files/adding/",),
    "psycopg": ("index/stores/postgres/",),
    "pyarrow": ("archives/", "files/contexts", "files/feeds/parquet"),
    "pyspark": ("archives/flow", "archives/session"),
    "rapidfuzz": ("report/diff",),
}
MODULES = sorted((ROOT / "dedup").rglob("*.py"))


def floor(module: str) -> int:
    return next(number for number, names in enumerate(FLOORS) if module in names)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def place(path: Path) -> str:
    return path.relative_to(ROOT / "dedup").with_suffix("").as_posix()


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_imports_go_down_only(path: Path) -> None:
    own = place(path).split("/")[0]
    if own == "__init__":
        return
    for name in imports(path):
        if name.startswith("dedup."):
            assert floor(name.split(".")[1]) <= floor(own), name
        assert not name.startswith(("crawler", "settings", "tests")), name


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_libraries_have_their_places(path: Path) -> None:
    for name in imports(path):
        allowed = PLACES.get(name.split(".")[0])
        assert allowed is None or place(path).startswith(allowed), name


@pytest.mark.parametrize("path", sorted((ROOT / "crawler").rglob("*.py")), ids=str)
def test_the_crawler_uses_public_names_only(path: Path) -> None:
    for name in imports(path):
        assert name in ("dedup", "dedup.plugin") or not name.startswith("dedup"), name


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_no_crawl_needs_the_algorithms_of_the_literature(path: Path) -> None:
    if not place(path).startswith(("algorithms/", "__init__")):
        for name in imports(path):
            assert not name.startswith("dedup.algorithms"), name
