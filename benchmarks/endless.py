"""Sites in which a crawl runs without end, each with thirty articles; all of them made on request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from crawler.example import running
from tests.support.pages import text

ARTICLES = 30
LISTS = 3
IDEAL = 1 + LISTS + ARTICLES
"""Requests that bring everything: the start page, three lists, thirty articles."""

# What a page says: status, headers, HTML.
Answer = tuple[int, dict[str, str], str]
Maker = Callable[["Trap", str], str | None]

_FRAME = "<nav><a href='{up}'>Home</a> <a href='{up}list/1.html'>Articles</a></nav>"


@dataclass
class Trap:
    """A site with a trap: what it answers, whether it has an end, and who asked for what."""

    name: str
    make: Maker
    entry: str
    is_finite: bool = False
    soft: bool = False
    deep: dict[int, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def answer(self, path: str) -> Answer:
        """Return the page at *path*."""
        self.asked.append(path)
        if path == "/robots.txt":
            return 404, {}, ""
        body = self.make(self, path)
        if body is None:
            body = _plain(self, path)
        if body is None and self.soft:
            return 200, {}, _missing(self, path)
        return (404, {}, "") if body is None else (200, {}, body)


def html(title: str, content: str, up: str = "/") -> str:
    """Return a page in the frame of the site."""
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body>"
        f"{_FRAME.format(up=up)}<main><h1>{title}</h1>{content}</main></body></html>"
    )


def links(*targets: str) -> str:
    """Return a list of links."""
    return "<ul>" + "".join(f"<li><a href='{one}'>see this</a></li>" for one in targets) + "</ul>"


def article(number: int) -> str:
    """Return the article of this *number*, 0 to 29, or of one deep in a trap."""
    return html(f"Article {number}", f"<p>article-{number}-here {text(number + 1_000)}</p>")


def _plain(trap: Trap, path: str) -> str | None:
    if path == "/":
        return html("Home", f"<p>{text(1)}</p>" + links(trap.entry, *_lists()))
    kind, _, name = path.strip("/").partition("/")
    number = name.removesuffix(".html")
    if not number.isdecimal():
        return None
    if kind == "list" and 1 <= int(number) <= LISTS:
        first = (int(number) - 1) * 10
        shown = links(*(f"/articles/{one}.html" for one in range(first, first + 10)))
        return html(f"List {number}", shown)
    if kind == "articles" and int(number) < ARTICLES:
        return article(int(number))
    return None


def _lists() -> list[str]:
    return [f"/list/{number}.html" for number in range(1, LISTS + 1)]


def _query(path: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))


def _unique(trap: Trap, depth: int) -> str:
    """Return a text of its own where this trap has one at *depth*."""
    return (
        f"<p>deep-{trap.deep[depth]}-here {text(trap.deep[depth] + 5_000)}</p>"
        if depth in trap.deep
        else ""
    )


def calendar(trap: Trap, path: str) -> str | None:
    """Months without end, and their days."""
    if not path.startswith("/calendar/"):
        return None
    parts = path.removeprefix("/calendar/").removesuffix(".html").split("-")
    if not all(part.isdecimal() for part in parts) or len(parts) not in (2, 3):
        return None
    year, month = int(parts[0]), int(parts[1])
    if len(parts) == 3:
        return html(f"{parts[2]}. {month}. {year}", "<p>Nothing is planned for this day.</p>")
    months = [divmod(year * 12 + month - 1 + step, 12) for step in (1, -1)]
    beside = [f"/calendar/{one}-{other + 1:02}.html" for one, other in months]
    days = [f"/calendar/{year}-{month:02}-{day:02}.html" for day in range(1, 29)]
    depth = (year - 2026) * 12 + month - 1
    return html(f"{month} {year}", _unique(trap, depth) + links(*beside, *days))


def chain(trap: Trap, path: str) -> str | None:
    """A calendar of which each page has one link only, to the next."""
    name = path.removeprefix("/months/").removesuffix(".html")
    if not path.startswith("/months/") or not name.isdecimal():
        return None
    after = links(f"/months/{int(name) + 1}.html")
    return html(f"Month {name}", "<p>Nothing is planned.</p>" + _unique(trap, int(name)) + after)


def relative(trap: Trap, path: str) -> str | None:
    """Links that are relative where they should not be; the server looks at the last two segments only."""
    if path == "/":
        return html("Home", f"<p>{text(1)}</p>" + links("tours/", *(one[1:] for one in _lists())), "")
    last = "/" + "/".join(path.split("/")[-2:])
    if path.endswith("/tours/"):
        return html("Tours", f"<p>{text(2)}</p>" + links("tours/", "list/1.html", "guides/"), "")
    if path.endswith("/guides/"):
        return html("Guides", f"<p>{text(3)}</p>" + links("tours/", "guides/", "list/2.html"), "")
    if last in ("/", path):
        return None
    return _plain(trap, last)


def facets(trap: Trap, path: str) -> str | None:
    """Filters of a shop, in any order: 2,713 addresses of lists of the same things."""
    values = {"colour": "rgb", "size": "sml", "sort": "ndp", "stock": "abc"}
    parts = urlsplit(path)
    if parts.path != "/shop":
        return None
    chosen = _query(path)
    more = [name for name in values if name not in chosen]
    queries = [f"{parts.query}&{name}={value}".lstrip("&") for name in more for value in values[name]]
    order = list(range(ARTICLES))
    random.Random(parts.query).shuffle(order)
    shown = order[: 30 - 6 * len(chosen)]
    found = links(*(f"/articles/{one}.html" for one in shown))
    words = " ".join(f"{name} {value}" for name, value in chosen.items())
    return html("Shop", f"<p>Showing {words}</p>" + found + links(*(f"/shop?{one}" for one in queries)))


def session_paths(trap: Trap, path: str) -> str | None:
    """Each link has an id of its own in its path, made of letters."""
    if not path.startswith("/s/"):
        return (
            html("Home", f"<p>{text(1)}</p>" + links(_session(trap, "start.html")))
            if path == "/"
            else None
        )
    name = "/" + path.split("/", 3)[-1]
    if name == "/start.html":
        return html("Start", f"<p>{text(4)}</p>" + links(*(_session(trap, one[1:]) for one in _lists())))
    page = _plain(trap, name)
    others = [_session(trap, "start.html"), *(_session(trap, one[1:]) for one in _lists())]
    if page and "/list/" in path:
        page = page.replace("'/articles/", f"'{_session(trap, 'articles/')}")
    return page and page.replace("</main>", links(*others) + "</main>")


def _session(trap: Trap, rest: str) -> str:
    return f"/s/{''.join(trap.chance.choices('bcdfghjklmnpqrstvwz', k=12))}/{rest}"


def session_queries(trap: Trap, path: str) -> str | None:
    """Each link has an id of its own in its query."""
    page = _plain(trap, urlsplit(path).path)
    if page is None:
        return None
    shown, number = page, next(trap.numbers)
    for end in (".html'", "'/'"):
        shown = shown.replace(end, f"{end[:-1]}?sid={number}{trap.chance.randrange(10**9)}'")
    return shown


def soft_404s(trap: Trap, path: str) -> str | None:
    """What is missing gets status 200, and proposes other addresses that are missing."""
    return None


def _missing(trap: Trap, path: str) -> str:
    names = ["".join(trap.chance.choices("aeioubcdfgt", k=8)) for _ in range(4)]
    near = ["/" + names[0], f"/articles/{names[1]}.html", f"{names[2]}/", f"/list/{names[3]}.html"]
    return html(
        "Sorry", f"<p>We could not find {quote(path)}. Did you mean one of these?</p>" + links(*near)
    )


def login(trap: Trap, path: str) -> str | None:
    """A wall that takes along where one came from, which makes each address longer."""
    parts = urlsplit(path)
    if parts.path not in ("/login", "/account", "/register"):
        return None
    form = "<form><input name=user><input name=password type=password><button>Log in</button></form>"
    ways = [f"/{name}?next={quote(path, safe='')}" for name in ("login", "account", "register")]
    return html("Log in", f"<p>Please log in to go on.</p>{form}" + links(*ways))


def history(trap: Trap, path: str) -> str | None:
    """A wiki: each article has forty versions, what differs between any two of them, and forms."""
    parts = urlsplit(path)
    page = _plain(trap, parts.path)
    if page is None or "/articles/" not in path:
        return page
    query = _query(path)
    at = parts.path
    if query.get("action") == "edit":
        return html("Edit", "<p>You may not edit this page.</p>")
    versions = [f"{at}?oldid={number}" for number in range(1, 41)]
    pairs = [f"{at}?diff={number + 1}&oldid={number}" for number in range(1, 40)]
    if query.get("action") == "history":
        return html("History", links(*versions, *pairs))
    old = f"<p>This is version {query['oldid']} of this page.</p>" if "oldid" in query else ""
    ways = links(f"{at}?action=history", f"{at}?action=edit")
    return page.replace("</main>", f"{old}{ways}</main>")


def traps() -> list[Trap]:
    """Return all sites."""
    return [
        Trap("calendar", calendar, "/calendar/2026-01.html"),
        Trap("relative paths", relative, "/tours/"),
        Trap("facets in any order", facets, "/shop", is_finite=True),
        Trap("sessions in paths", session_paths, "/s/first/start.html"),
        Trap("sessions in queries", session_queries, "/list/1.html"),
        Trap("soft 404s", soft_404s, "/nowhere", soft=True),
        Trap("logins", login, "/login?next=%2F"),
        Trap("history of a wiki", history, "/articles/0.html", is_finite=True),
    ]


def trap_named(name: str) -> Trap:
    """Return the site of that name."""
    return next(trap for trap in traps() if trap.name == name)


@contextmanager
def answering(answer: Callable[[str], Answer], host: str = "127.0.0.1") -> Iterator[str]:
    """Serve what *answer* gives for each path during the context; gives the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with running(Handler, host=host) as url:
        yield url


@contextmanager
def trapped(trap: Trap) -> Iterator[str]:
    """Serve the site during the context; gives its URL."""
    with answering(trap.answer) as url:
        yield url
