"""A page of a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Opened:
    """A page of the browser that remembers what went wrong, and what it asked for."""

    def __init__(self, browser: Any, place: Path | str, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = place if isinstance(place, str) else place.as_uri()
        self.page.goto(self.address)

    def _refuse(self, dialog: Any) -> None:
        self.problems.append(f"a dialog says {dialog.message}")
        dialog.dismiss()

    def part(self, name: str) -> Any:
        self.page.goto(f"{self.address}#{name}")
        section = self.page.locator(f"section#{name.split('/', maxsplit=1)[0]}")
        section.wait_for()
        return section

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *exc: object) -> None:
        self.context.close()
        if exc[0] is None:
            assert self.problems == []
            assert all(url.startswith(self.address) for url in self.requests)
