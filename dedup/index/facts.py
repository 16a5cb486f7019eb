"""What rules ask for with every page and what seldom changes, such as which runs are one crawl."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from secrets import token_hex
from typing import Any, TypeVar

from dedup.index.notes import ANSWERS, UrlRules
from dedup.index.rows import RESTORED, Group, Note, first
from dedup.index.sites import Site, Sites
from dedup.index.store import Store
from dedup.values.row import Run, Visit, crawl_of
from dedup.values.urls import with_or_without_www

_T = TypeVar("_T")

# The note whose value changes whenever rows are forgotten.
FORGETTING = "forgetting"


class Facts:
    """The facts of one *store*; kept until `changed`, or until somebody else changes the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state: Hashable = None
        self._known: dict[Hashable, Any] = {}
        self._sites = Sites(store)

    def crawl(self, run: int) -> frozenset[int]:
        """Return the runs that are one crawl with *run*; of one that is still to begin, only it."""
        return self._fact(run, lambda: crawl_of(run, self._store.select(Run)))

    def harmless(self) -> frozenset[str]:
        """Return what rules for URLs that were proposed say does not matter."""
        return self._fact("harmless", UrlRules(self._store).harmless)

    def has_restored(self) -> bool:
        """Return whether somebody wants any page back that was dropped."""
        return self._fact("wanted", lambda: self._is_any(RESTORED))

    def has_gone(self) -> bool:
        """Return whether any known page was asked for and is gone."""
        return self._fact("gone", lambda: bool(self._store.select(Note, name=ANSWERS, limit=1)))

    def has_substitutes(self) -> bool:
        """Return whether any page was kept in the place of another one that a crawl had not met."""
        return self._fact("stand-ins", lambda: self._is_any("p.represents IS NOT NULL"))

    def _is_any(self, where: str) -> bool:
        return first(self._store.rows(where, limit=1)) is not None

    def site(
        self, group: Group, host: str, runs: frozenset[int] | None, dry_runs: frozenset[int]
    ) -> Site:
        """Return what is known of the site *host* in *group*; see `Sites.site`."""
        self._sites.as_of(self._fact("forgetting", lambda: self._store.note(FORGETTING)))
        return self._sites.site(group, host, runs, dry_runs)

    def note_forgetting(self) -> None:
        """Note that rows were forgotten: what was on their pages is no longer known."""
        self._store.put(Note(FORGETTING, token_hex()))
        self.changed()

    def has_visited(self, runs: frozenset[int]) -> bool:
        """Return whether one of *runs* has visited any host."""
        return self._fact(("visited", runs), lambda: self._are_visits(run=runs))

    def is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        """Return whether one of *runs* was on *host*, under *scope* or the scope of all pages.

        A host with ``www.`` in front and the one without it are one.
        """
        return self._are_visits(scope=(scope, ""), host=with_or_without_www(host), run=runs)

    def _are_visits(self, **fields: Any) -> bool:
        return bool(self._store.select(Visit, limit=1, **fields))

    def changed(self) -> None:
        """Forget all facts: something that they tell has changed here; others learn of it too."""
        self._known.clear()
        self._store.announce()

    def _fact(self, name: Hashable, read: Callable[[], _T]) -> _T:
        if (state := self._store.state()) != self._state:
            self._known.clear()
            self._state = state
        if name not in self._known:
            self._known[name] = read()
        found: _T = self._known[name]
        return found
