"""``dedup report --format html``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from dedup.cli.output import rate_of, rated_bars, text_output
from dedup.index import Index
from dedup.index.index import short_name
from dedup.recipes.config import DedupConfig
from dedup.report.contents import Choices, Marking, Track
from dedup.report.html import write_report
from dedup.report.replay import JudgedAgain
from dedup.report.selection import Selection
from dedup.report.side_by_side import stored_texts

T = TypeVar("T")


def is_installed() -> bool:
    """Return whether the extra ``report`` is there."""
    return find_spec("jinja2") is not None


def write_html(
    index: Index,
    replay: JudgedAgain | None,
    selection: Selection,
    config: DedupConfig,
    output: Path,
    *,
    keep: str,
    marking: Marking = Marking(),  # noqa: B008 - a frozen value
) -> None:
    """Write the HTML report on the *selection* of *index*, or of its *replay*, with a bar."""
    source = replay.index if replay else index
    glances = None if selection == Selection() else selection.glances(source)
    with index.store.unmapped(), text_output(output) as file, _watched() as track:
        choices = Choices(
            index=source,
            config=replay.config if replay else config,
            name=short_name(index.name),
            note=str(replay or ""),
            glances=glances,
            keep=keep,
            text_of=stored_texts(index),
            marking=replace(marking, index=index.id),
            track=track,
        )
        write_report(choices, file)


@contextmanager
def _watched() -> Iterator[Track]:
    with rated_bars() as bars:

        def track(values: Iterable[T], description: str, total: int) -> Iterator[T]:
            task = bars.add_task(description, total=total, rate="")
            done = 0
            for done, value in enumerate(values, 1):
                yield value
                if done % 256 == 0:
                    bars.update(task, completed=done, rate=rate_of(bars.tasks[task]))
            bars.update(task, completed=done)

        yield track
