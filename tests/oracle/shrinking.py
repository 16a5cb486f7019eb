"""Make a history smaller as long as it breaks the same law."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, replace
from typing import Any

from tests.oracle.history import History, Leaf, Step, Thing

Breaks = Callable[[Sequence[History]], list[bool]]

# So many smaller histories are tried at a time.
_AT_ONCE = 8


def shrunk(history: History, breaks: Breaks, patience: int = 60) -> History:
    """Return a smaller history of which *breaks* still says that it breaks the law.

    It gives up after so many rounds (*patience*).
    """
    for _ in range(patience):
        found = _smaller(history, breaks)
        if found is None:
            return history
        history = found
    return history


def _smaller(history: History, breaks: Breaks) -> History | None:
    candidates = list(dict.fromkeys(map(_Same, candidates_of(history))))
    for first in range(0, len(candidates), _AT_ONCE):
        some = [candidate.history for candidate in candidates[first : first + _AT_ONCE]]
        for candidate, still in zip(some, breaks(some), strict=True):
            if still:
                return candidate
    return None


class _Same:
    """A history as a key: maps have no hash."""

    def __init__(self, history: History) -> None:
        self.history = history

    def __hash__(self) -> int:
        return hash(repr(self.history))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.history == other.history


def candidates_of(history: History) -> Iterator[History]:
    """Yield smaller histories, the much smaller ones first."""
    yield from _with_fewer_steps(history)
    yield from _without_hosts(history)
    yield from _without_pages(history)
    yield from _with_defaults(history)
    yield from _with_calmer_steps(history)
    yield from _with_plainer_pages(history)


def _with_fewer_steps(history: History) -> Iterator[History]:
    for number in reversed(range(len(history.steps))):
        left = history.steps[:number] + history.steps[number + 1 :]
        if left:
            yield replace(history, steps=left)


def _without_hosts(history: History) -> Iterator[History]:
    for start in sorted({start for step in history.steps for start in step.starts}):
        yield _without_urls(history, [url for url in _urls(history) if url.startswith(start)])


def _without_pages(history: History) -> Iterator[History]:
    for url in _urls(history):
        yield _without_urls(history, [url])


def _urls(history: History) -> list[str]:
    return sorted({url for step in history.steps for url in step.site})


def _without_urls(history: History, urls: Sequence[str]) -> History:
    return replace(history, steps=tuple(_without(step, urls) for step in history.steps))


def _with_defaults(history: History) -> Iterator[History]:
    for field in fields(History):
        yield from _with_default(history, field)


def _with_default(thing: Any, field: Field[Any]) -> Iterator[Any]:
    default = field.default
    if default is not MISSING and getattr(thing, field.name) != default:
        change: dict[str, Any] = {field.name: default}
        yield replace(thing, **change)


def _with_calmer_steps(history: History) -> Iterator[History]:
    for number, step in enumerate(history.steps):
        for calmer in _calmer(step):
            steps = (*history.steps[:number], calmer, *history.steps[number + 1 :])
            yield replace(history, steps=steps)


def _calmer(step: Step) -> Iterator[Step]:
    for field in fields(Step):
        yield from _with_default(step, field)
    for url in step.fails:
        yield replace(step, fails={at: fate for at, fate in step.fails.items() if at != url})
    for start in step.starts[1:]:
        yield replace(step, starts=tuple(other for other in step.starts if other != start))
    for url in step.site:
        yield _without(step, [url])


def _with_plainer_pages(history: History) -> Iterator[History]:
    for url in _urls(history):
        leaves = {repr(step.site[url]): step.site[url] for step in history.steps if url in step.site}
        for leaf in leaves.values():
            for plainer in _plainer(leaf):
                yield replace(
                    history, steps=tuple(_with(step, url, leaf, plainer) for step in history.steps)
                )


def _plainer(leaf: Leaf) -> Iterator[Leaf]:
    for field in fields(Leaf):
        if field.name not in ("things", "links", "leads"):
            yield from _with_default(leaf, field)
    for number in range(len(leaf.again)):
        yield replace(leaf, again=leaf.again[:number] + leaf.again[number + 1 :])
    for number in range(len(leaf.things)):
        yield replace(leaf, things=leaf.things[:number] + leaf.things[number + 1 :])
    if leaf.things and leaf.things != (plain := (Thing(leaf.content),)):
        yield replace(leaf, things=plain)
    for number in range(len(leaf.links)):
        yield replace(leaf, links=leaf.links[:number] + leaf.links[number + 1 :])


def _without(step: Step, urls: Sequence[str]) -> Step:
    """Remove pages and what is said of them; what they linked to is linked to by who linked to them."""
    site = dict(step.site)
    for url in urls:
        gone = site.pop(url, None)
        if gone:
            site = {at: _relinked(leaf, url, gone.links) for at, leaf in site.items()}
    starts = tuple(start for start in step.starts if start not in urls) or step.starts[:1]
    return replace(
        step, site=site, starts=starts, fails={at: f for at, f in step.fails.items() if at not in urls}
    )


def _relinked(leaf: Leaf, url: str, links: Sequence[str]) -> Leaf:
    if url not in leaf.links:
        return leaf
    found = [new for link in leaf.links for new in (links if link == url else [link])]
    return replace(leaf, links=tuple(link for link in dict.fromkeys(found) if link != url))


def _with(step: Step, url: str, old: Leaf, new: Leaf) -> Step:
    return replace(step, site={**step.site, url: new}) if step.site.get(url) == old else step
