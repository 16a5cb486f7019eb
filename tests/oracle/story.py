"""A history told so that a person can follow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from tests.oracle.history import History, Leaf, Step, Thing

_SETTINGS = [field for field in fields(History) if field.name != "steps"]


def story_of(history: History) -> str:
    """Return *history* in lines: what is not the default, and what changes from step to step."""
    chosen = [
        f"{field.name}={getattr(history, field.name)}"
        for field in _SETTINGS
        if getattr(history, field.name) != field.default
    ]
    lines = [" ".join(chosen) or "default settings"]
    before: dict[str, Leaf] = {}
    for number, step in enumerate(history.steps):
        lines += [f"step {number}: {_how(step)}", *_changes(before, step)]
        before = dict(step.site)
    return "\n".join(lines)


def _how(step: Step) -> str:
    parts = [f"spider {step.spider} starts at {' '.join(step.starts)}"]
    if step.is_beside:
        parts.append("at the same time")
    if step.greetings:
        parts.append(f"items of no page: {_things(step.greetings)}")
    if step.order:
        parts.append(f"order {step.order}")
    if step.job:
        parts.append(f"job {step.job}" + (" in a fresh folder" if step.is_fresh else ""))
    if step.name:
        parts.append(f"of the crawl {step.name}")
    if step.is_dry:
        parts.append("a dry run")
    if step.max_lost_words != 40:
        parts.append(f"max_lost_words {step.max_lost_words}")
    if step.ending == "killed":
        parts.append(f"killed at {step.where} {step.after}")
    if step.ending == "stopped":
        parts.append(f"stopped after {step.after} responses")
    parts += [f"storage of {url}: {fate}" for url, fate in step.fails.items()]
    return ", ".join(parts)


def _changes(before: dict[str, Leaf], step: Step) -> Iterator[str]:
    for url in before:
        if url not in step.site:
            yield f"    {url} is gone"
    for url, leaf in step.site.items():
        if before.get(url) != leaf:
            yield f"    {url} says {_said(leaf)}"


def _said(leaf: Leaf) -> str:
    if leaf.leads:
        return f"nothing, and leads to {leaf.leads}"
    what = f"{leaf.content}, items: {_things(leaf.things)}"
    if leaf.links:
        what += f", links: {' '.join(leaf.links)}"
    what += f", written {leaf.dress}" if leaf.dress else ""
    what += "".join(f", then {_said(later)}" for later in leaf.again)
    return what + (", exempt" if leaf.is_exempt else "")


def _things(things: Iterable[Thing]) -> str:
    said = (
        f"{thing.kind} {thing.content}"
        + (f" and {thing.beside} beside it" if thing.beside else "")
        + (f" key {thing.key}" if thing.key else "")
        for thing in things
    )
    return ", ".join(said) or "none"
