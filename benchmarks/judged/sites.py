"""A whole site, read once: its pages as an index sees them, their words, and orders to take them in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from benchmarks.judged.words import Words, shingles_of
from dedup import DedupConfig, Page, fingerprint
from dedup.files.adding import find_feeds
from dedup.index import Sighting
from dedup.model.urls import host_of
from dedup.reading.fields import FieldRule
from dedup.reading.page import sighting_of
from dedup.reading.tokens import tokens

ADD, LINKS = "add", "links"
# As `dedup add` takes them, or breadth first by their links.
ORDERS = {ADD: "their names", LINKS: "links"}
INDEX = ("index.html", "index.htm")
# What programs that mirror sites put in place of signs that some file systems refuse.
_REFUSED = str.maketrans(dict.fromkeys('?*:|"<>\\', "_"))


@dataclass(frozen=True, slots=True)
class Site:
    """A site: its pages by number, in the order in which `dedup add` takes them.

    *orders* are the numbers in each of `ORDERS`.
    """

    name: str
    paths: tuple[str, ...]
    texts: tuple[str, ...]
    sightings: tuple[Sighting, ...]
    words: Words
    orders: Mapping[str, Sequence[int]]


def read_site(folder: Path) -> Site:
    """Return the site in *folder*."""
    config = DedupConfig()
    feeds = find_feeds([folder], FieldRule()).feeds
    paths, pages, sightings, texts, shingles = [], [], [], [], []
    for file, record in ((feed.name, record) for feed in feeds for record in feed.records()):
        assert callable(record.read)
        raw = record.read()
        assert raw is not None
        page = Page.of_raw(raw).of_record(raw)
        words = tokens(page.text)
        paths.append(Path(file).relative_to(folder).as_posix())
        pages.append(page)
        sightings.append(sighting_of(page, fingerprint(page, config), scope=config.scope))
        texts.append(" ".join(words))
        shingles.append(shingles_of(words))
    links = {path: page.links for path, page in zip(paths, pages, strict=True)}
    hosts = {path: host_of(page.canonical_link) for path, page in zip(paths, pages, strict=True)}
    number = {path: place for place, path in enumerate(paths)}
    return Site(
        name=folder.name,
        paths=tuple(paths),
        texts=tuple(page.text for page in pages),
        sightings=tuple(sightings),
        words=Words.of(texts, shingles),
        orders={
            ADD: range(len(paths)),
            LINKS: [number[path] for path in link_order(links, hosts)],
        },
    )


def link_order(links: Mapping[str, Sequence[str]], hosts: Mapping[str, str] | None = None) -> list[str]:
    """Return the pages breadth first from the start page; those that no link leads to at the end.

    *links* are those of each page, by its path; *hosts* is the host that it names as its own, "" for
    none, by its path.
    """
    if not links:
        return []
    first = start_page(list(links))
    found, waiting = {first: None}, deque([first])
    while waiting:
        page = waiting.popleft()
        for link in links[page]:
            target = target_of(page, link, links, host=(hosts or {}).get(page, ""))
            if target and target not in found:
                found[target] = None
                waiting.append(target)
    return list(dict.fromkeys([*found, *links]))


def start_page(paths: Sequence[str]) -> str:
    """Return the index page in the fewest folders, without one the page in the fewest.

    >>> start_page(["a/b.html", "a/c/index.html", "d/index.html"]), start_page(["a/b.html", "c.html"])
    ('d/index.html', 'c.html')
    """
    indexes = [path for path in paths if path.rsplit("/", 1)[-1] in INDEX]
    return min(indexes or paths, key=lambda path: path.count("/"))


def target_of(page: str, link: str, paths: Mapping[str, object], *, host: str = "") -> str:
    """Return which of *paths* the *link* on *page* leads to, "" for none.

    A link with a host leads somewhere if that is *host*: the site may have been in any folder of it.

    >>> paths = dict.fromkeys(["index.html", "a/index.html", "a/b.php_id=1.html"])
    >>> target_of("a/index.html", "b.php%3Fid=1.html#top", paths), target_of("a/index.html", "/", paths)
    ('a/b.php_id=1.html', 'index.html')
    >>> target_of("index.html", "https://x.example/blog/a/", paths, host="x.example")
    'a/index.html'
    """
    try:
        parts = urlsplit(link)
        if (parts.scheme or parts.netloc) and not (host and parts.hostname == host):
            return ""
    except ValueError:  # an address that is none
        return ""
    path = unquote(parts.path) + (f"?{parts.query}" if parts.query else "")
    if not path:
        return ""
    is_whole = bool(parts.netloc)
    return next(
        (found for place in _places(page, path, is_whole=is_whole) if (found := _file(place, paths))), ""
    )


def _places(page: str, path: str, *, is_whole: bool) -> Iterator[str]:
    """Yield where *path* may lie in the folder of the site; one of a *whole* address, also deeper."""
    if not path.startswith("/"):
        yield normpath(join(dirname(page), path))
        return
    parts = path.strip("/").split("/")
    for start in range(len(parts) if is_whole else 1):
        yield "/".join(parts[start:])


def _file(place: str, paths: Mapping[str, object]) -> str:
    plain = "" if place == "." else place.strip("/").translate(_REFUSED)
    names = (plain, f"{plain}.html", *(f"{plain}/{name}".lstrip("/") for name in INDEX))
    return next((name for name in names if name in paths), "")
