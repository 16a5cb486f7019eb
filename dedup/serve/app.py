"""The pages of ``dedup serve``: a live index, read only, everything on them escaped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dedup.index import Index, Row, open_index, short_name, shown_place
from dedup.report.diff import Change, word_diff
from dedup.serve import shown
from dedup.serve.headers import SafeHeaders
from dedup.serve.totals import Totals
from dedup.values.errors import DedupError
from dedup.values.row import NoSuchRow

PAGE_SIZE = 50
NEWEST = 12
RUNS = 20
# Of a text so many characters are compared.
MAX_TEXT = 200_000
# The names of this machine only: a stranger's page whose own name leads to 127.0.0.1 reads nothing.
HOSTS = ("127.0.0.1", "localhost")
_TABS = (
    ("/", "Overview"),
    ("/pages", "Pages"),
    ("/pages?duplicates=1", "Duplicates"),
    ("/clusters", "Clusters"),
)
_HERE = {"overview.html": "/", "pages.html": "/pages", "clusters.html": "/clusters"}


def application(place: Path | str) -> ASGIApp:
    """Return the web application that shows the index at *place*, which it opens to read only."""
    views = _Views(place)
    pages = Starlette(
        routes=[
            Route("/", views.overview),
            Route("/live.json", views.live),
            Route("/pages", views.pages),
            Route("/clusters", views.clusters),
            Route("/page/{row}", views.page),
            Mount("/static", StaticFiles(packages=[("dedup.serve", "static")])),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False)],
        exception_handlers={DedupError: views.failed, HTTPException: views.refused},
        lifespan=views.opened,
    )
    return SafeHeaders(pages)


class _Views:
    """One view for each page.

    They are coroutines that never wait: all of them run in the thread of the event loop, which is
    the one that SQLite's connection belongs to.
    """

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._name = short_name(shown_place(place))
        self._index: Index | None = None
        self._totals = Totals()
        self._templates = Environment(
            loader=PackageLoader("dedup.serve"), autoescape=True, undefined=StrictUndefined
        )
        self._templates.filters.update(shown.FILTERS)

    @asynccontextmanager
    async def opened(self, _: Starlette) -> AsyncIterator[None]:
        """Keep the index open while the server runs."""
        with open_index(self._place, read_only=True) as self._index:
            yield

    async def overview(self, _: Request) -> Response:
        return self._page("overview.html", **self._state())

    async def live(self, _: Request) -> Response:
        part = self._templates.get_template("state.html").render(**self._state())
        return JSONResponse({"state": part})

    async def pages(self, request: Request) -> Response:
        query = request.query_params
        wanted: dict[str, Any] = {
            "before": _number(query.get("before", "")) or None,
            "run": _number(query.get("run", "")),
            "part": query.get("q", "")[:500],
        }
        duplicates = query.get("duplicates") == "1"
        rows = self.index.views.newest(PAGE_SIZE + 1, copies=duplicates, **wanted)
        older = rows[PAGE_SIZE - 1].id if len(rows) > PAGE_SIZE else None
        return self._page(
            "pages.html",
            rows=rows[:PAGE_SIZE],
            runs=self.index.runs(),
            older=older,
            duplicates=duplicates,
            **wanted,
        )

    async def clusters(self, request: Request) -> Response:
        start = _number(request.query_params.get("start", ""))
        clusters = self.index.views.clusters(start + PAGE_SIZE + 1)[start:]
        more = start + PAGE_SIZE if len(clusters) > PAGE_SIZE else None
        return self._page("clusters.html", clusters=clusters[:PAGE_SIZE], start=start, more=more)

    async def page(self, request: Request) -> Response:
        try:
            row = self.index.row(_number(request.path_params["row"]))
        except NoSuchRow as error:
            raise HTTPException(404, str(error)) from error
        canonical = None if row.verdict.canonical is None else self.index.row(row.verdict.canonical)
        return self._page(
            "page.html",
            row=row,
            canonical=canonical,
            changes=self._changes(canonical, row) if canonical else [],
            history=[one for one in self.index.views.history(row.sighting.url) if one.id != row.id],
            duplicates=self.index.views.copies_of(row.id, PAGE_SIZE),
        )

    def _changes(self, canonical: Row, row: Row) -> list[Change]:
        """Return how the text of *canonical* became that of *row*, nothing where they are not stored."""
        one, other = (self.index.views.text_of(seen) for seen in (canonical, row))
        return word_diff(one[:MAX_TEXT], other[:MAX_TEXT]) if one and other else []

    async def failed(self, _: Request, error: Exception) -> Response:
        """Say what the index could not do; its file may be damaged, gone or busy."""
        return self._page("error.html", status=503, message=str(error))

    async def refused(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._page("error.html", status=error.status_code, message=error.detail)

    @property
    def index(self) -> Index:
        assert self._index is not None
        return self._index

    def _state(self) -> dict[str, Any]:
        self._totals.read_on(self.index)
        return {
            "totals": self._totals,
            "statistics": self.index.views.statistics(),
            "sizes": self._sizes(),
            "runs": self.index.runs()[: -RUNS - 1 : -1],
            "newest": self.index.views.newest(NEWEST, copies=True),
        }

    def _sizes(self) -> dict[str, int]:
        """Return the bytes of the data, and of the log beside a file that SQLite writes back."""
        if not isinstance(self._place, Path):
            return {"data": self.index.views.statistics().bytes, "log": 0}
        log = self._place.with_name(f"{self._place.name}-wal")
        paths = {"data": self._place, "log": log}
        return {name: path.stat().st_size if path.exists() else 0 for name, path in paths.items()}

    def _page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        here = _HERE.get(template, "")
        if template == "pages.html" and values["duplicates"]:
            here = "/pages?duplicates=1"
        values |= {"name": self._name, "tabs": _TABS, "here": here}
        text = self._templates.get_template(template).render(**values)
        return HTMLResponse(text.encode("utf-8", "replace"), status)


def _number(text: str) -> int:
    """Return the number that *text* is, 0 for anything else and what no row can have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
