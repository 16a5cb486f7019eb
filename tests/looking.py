"""Finds who looks in one transaction, or in none, and acts in another one by what was seen there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

from dedup import Detector
from dedup.index import Index
from dedup.index import server as server_module
from dedup.index import store as store_module
from dedup.index.facts import Facts
from dedup.index.ledger import Ledger
from dedup.index.notes import UrlRules
from dedup.index.replica import Replica
from dedup.index.runs import Runs
from dedup.index.store import Store

RULES = (Index, Ledger, Runs, UrlRules, Detector)
STORES = (Store, Replica)
LOOKS = (
    "rows",
    "rows_of",
    "row",
    "select",
    "note",
    "last",
    "candidates",
    "near",
    "kept_texts",
)
ACTS = ("add", "settle", "set_listed", "remove", "put", "delete", "add_run", "claim")
# This tells whether what was seen before still holds.
PROOFS = {"claim"}
# What was seen for something else.
APART = {
    "Index.prepare": {"select Note"},  # of the recipe
    "Ledger.confirm": {"facts"},  # where there is more to do, it begins anew
    # How many rows there are only rises: the texts of later ones are not kept.
    **{name: {"last"} for name in ("Detector.check", "Detector.submit", "Ledger.find_or_add")},
}


class OldLook(AssertionError):
    """Somebody acts by what was seen before the transaction began."""


class Watch:
    """What one call of a rule has seen: before its transaction, and in it."""

    def __init__(self) -> None:
        self.call = ""
        self.depth = 0
        self.acted = False
        self.before: set[str] = set()
        self.inside: set[str] = set()

    @contextmanager
    def calling(self, name: str) -> Iterator[None]:
        """Watch a call of *name*, unless it is part of another one."""
        if self.call:
            yield
            return
        self.call = name
        try:
            yield
        finally:
            self.call = ""
            self.before.clear()
            self._forget_transaction()

    def _forget_transaction(self) -> None:
        self.inside, self.acted = set(), False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Watch a transaction, which may be part of another one."""
        self.depth += 1
        try:
            yield
            if self.depth == 1:
                self.check()
        finally:
            self.depth -= 1
            if not self.depth:
                self._forget_transaction()

    def looked(self, what: str) -> None:
        """Note that *what* was looked at."""
        if self.call:
            (self.inside if self.depth else self.before).add(what)

    def did(self) -> None:
        """Note that something was changed."""
        if self.call:
            self.acted = True
            if not self.depth:
                self.check()

    def check(self) -> None:
        """Look back at a transaction that ends: who acted has looked at all that was seen before."""
        if not self.acted:
            self.before |= self.inside
        elif not self.inside & PROOFS:
            old = self.before - self.inside - APART.get(self.call, set())
            if old:
                raise OldLook(f"{self.call} acts by {', '.join(sorted(old))} of another transaction")
        if self.acted:  # it was done by what was seen in it
            self.before.clear()
        self._forget_transaction()


_watches: list[Watch] = []


@contextmanager
def somebody_else() -> Iterator[None]:
    """Do what others do meanwhile: it is no part of the call that is watched."""
    _watches.append(Watch())
    try:
        yield
    finally:
        _watches.pop()


def name_of(what: str, args: tuple[Any, ...]) -> str:
    """Return what is looked at: of records also their kind."""
    return f"select {args[0].__name__}" if what == "select" else what


def _call(original: Any) -> Any:
    def watched(*args: Any, **how: Any) -> Any:
        with _watches[-1].calling(original.__qualname__):
            return original(*args, **how)

    return watched


def _transaction(original: Any) -> Any:
    @contextmanager
    def watched(*args: Any, **how: Any) -> Iterator[None]:
        with original(*args, **how), _watches[-1].transaction():
            yield

    return watched


def _look(original: Any) -> Any:
    def watched(store: Any, *args: Any, **how: Any) -> Any:
        _watches[-1].looked(name_of(original.__name__, args))
        with somebody_else():  # what a store does for itself is its own affair
            return original(store, *args, **how)

    return watched


def _act(original: Any) -> Any:
    def watched(*args: Any, **how: Any) -> Any:
        if original.__name__ in PROOFS:
            _watches[-1].before.clear()
        _watches[-1].did()
        with somebody_else():
            return original(*args, **how)

    return watched


def _anew(original: Any) -> Any:
    # Nothing that was seen before a verdict is part of it.
    def watched(*args: Any, **how: Any) -> Any:
        _watches[-1].before.clear()
        return original(*args, **how)

    return watched


def _apart(original: Any) -> Any:
    def watched(*args: Any) -> Any:
        with somebody_else():
            return original(*args)

    return watched


def _fact(original: Any) -> Any:
    # What is remembered is as good as seen: `Store.state` tells when it is not.
    def watched(*args: Any) -> Any:
        _watches[-1].looked("facts")
        with somebody_else():
            return original(*args)

    return watched


@pytest.fixture
def watched_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Raise `OldLook` where a rule of an index acts by what it saw in another transaction."""

    def replace(owner: type, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, wraps(original)(make(original)))

    for owner in RULES:
        for name, _ in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                replace(owner, name, _call)
    replace(Ledger, "_verdict", _anew)
    replace(Facts, "_fact", _fact)
    for store in STORES:
        replace(store, "transaction", _transaction)
        for make, names in ((_look, LOOKS), (_act, ACTS)):
            for name in vars(store).keys() & set(names) if store is Replica else names:
                replace(store, name, make)
    for leases in (store_module.Leases, server_module.Leases):
        replace(leases, "is_held", _look)
        replace(leases, "take", _act)
    # What others did is done here as well.
    replace(Replica, "_do", _apart)
    with somebody_else():
        yield
