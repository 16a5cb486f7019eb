"""Which part of a page is judged, by CSS selectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

from parsel import Selector, css2xpath

from dedup.front.settings import DedupSettings
from dedup.reading.page import Page
from dedup.values.errors import ConfigError, shown
from dedup.values.printable import printable

logger = logging.getLogger(__name__)


def check_selectors(settings: DedupSettings) -> None:
    """Raise `ConfigError` for a selector that cannot be read."""
    for name, selector in (("DEDUP_CONTENT", settings.content), ("DEDUP_IGNORE", settings.ignore)):
        if "::" in selector:
            raise ConfigError(f"{name} ({shown(selector)}) must select elements")
        try:
            if selector:
                css2xpath(selector)
        except Exception as error:  # cssselect and parsel raise their own
            raise ConfigError(f"{name} ({shown(selector)}) must be a CSS selector: {error}") from error


class JudgedPart:
    """Reads the part of a page that ``DEDUP_CONTENT`` selects, without what ``DEDUP_IGNORE`` selects."""

    def __init__(self, settings: DedupSettings) -> None:
        self._content, self._ignore = settings.content, settings.ignore
        self._is_warned = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing is selected: whole pages are judged."""
        return not (self._content or self._ignore)

    def of(self, page: Page, markup: Callable[[], str]) -> Page:
        """Return *page* with the text and structure of its part; *markup* gives its HTML.

        Its links stay, and pages of equal bytes are copies as before.  A page without such a part is
        judged as a whole, and the first one is logged.
        """
        if self.is_whole or page.excess or not (html := markup()):
            return page
        roots = self._roots(html)
        if not roots:
            self._warn(page)
            return page
        parts = [Page.from_tree(root, body=b"") for root in roots]
        return replace(
            page,
            text="\n".join(part.text for part in parts if part.text),
            tags=tuple(chain.from_iterable(part.tags for part in parts)),
            depths=tuple(chain.from_iterable(part.depths for part in parts)),
            classes=tuple(chain.from_iterable(part.classes for part in parts)),
        )

    def _roots(self, html: str) -> list[Any]:
        tree = Selector(text=html, type="html")
        for ignored in tree.css(self._ignore) if self._ignore else ():
            if ignored.root.getparent() is not None:
                ignored.root.drop_tree()
        return (
            _outermost([one.root for one in tree.css(self._content)]) if self._content else [tree.root]
        )

    def _warn(self, page: Page) -> None:
        if not self._is_warned:
            self._is_warned = True
            logger.warning(
                "<%s> has nothing that DEDUP_CONTENT (%s) selects: it is judged as a whole, and so is "
                "every page like it",
                *(printable(page.url), printable(self._content)),
            )


def _outermost(elements: list[Any]) -> list[Any]:
    """Return those of *elements* that are in no other one."""
    chosen = set(elements)
    return [one for one in elements if chosen.isdisjoint(one.iterancestors())]
