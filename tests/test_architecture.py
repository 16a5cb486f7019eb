"""Imports go down only, and each library has one place."""

import ast
from functools import cache
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parent.parent

# The floors of the house, the lowest first; a module may import from its own floor and below.
FLOORS = "native model processes, reading, prints, rule urls, index, replay, files report settings, cli plugin".split(
    ","
)
# Where a library may be imported; any of dedup's modules may import what is not named here.
PLACES = {
    "scrapy": ("plugin/",),
    "itemadapter": ("reading/fields", "plugin/"),
    "twisted": ("plugin/",),
    "sqlite3": ("index/", "plugin/requests"),
    "click": ("cli/",),
    **dict.fromkeys(("jieba", "rjieba"), ("reading/tokens",)),
    **dict.fromkeys(("lxml", "bs4"), ("reading/markup",)),
    "jinja2": ("report/html",),
    **dict.fromkeys(("brotli", "warcio"), ("files/warc",)),
    "msgpack": ("index/server",),
    "multiprocessing": ("processes",),
    "psycopg": ("index/server",),
    "pyarrow": ("files/formats",),
    "rapidfuzz": ("report/diff",),
}
MODULES = sorted((ROOT / "dedup").rglob("*.py"))


def floor(module: str) -> int:
    return next(number for number, names in enumerate(FLOORS) if module in names.split())


@cache
def imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return tuple(found)


@cache
def froms(path: Path) -> tuple[tuple[str, str], ...]:
    """Return what a module imports names from: a module, and what may be a module in a package."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    found = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return tuple((str(it.module), f"{it.module}.{alias.name}") for it in found for alias in it.names)


def place(path: Path) -> str:
    return path.relative_to(ROOT / "dedup").with_suffix("").as_posix()


def imported(paths: list[Path]) -> list[tuple[Path, str]]:
    found = [(path, name) for path in paths for name in imports(path)]
    assert len(found) > len(paths)
    return found


def test_imports_go_down_only() -> None:
    for path, name in imported([path for path in MODULES if place(path) != "__init__"]):
        if name.startswith("dedup."):
            assert floor(name.split(".")[1]) <= floor(place(path).split("/")[0]), (path, name)
        assert not name.startswith(("crawler", "settings", "tests")), (path, name)


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not even for types, or inside of a function: each can be read with those below it alone."""
    modules = {f"dedup.{place(path).replace('/', '.')}": path for path in MODULES}
    left = {name: {*chain(*froms(path))} & modules.keys() for name, path in modules.items()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"in a circle, or above one: {sorted(left)}"


def test_libraries_have_their_places() -> None:
    for path, name in imported(MODULES):
        allowed = PLACES.get(name.split(".")[0])
        assert allowed is None or place(path).startswith(allowed), (path, name)


def test_the_crawler_uses_public_names_only() -> None:
    for path, name in imported(sorted((ROOT / "crawler").rglob("*.py"))):
        assert name in ("dedup", "dedup.plugin") or not name.startswith("dedup"), (path, name)
