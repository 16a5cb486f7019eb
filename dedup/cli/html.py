"""``dedup report --format html``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from dedup.cli.output import progress_bar, text_output
from dedup.index import Index
from dedup.index.index import short_name
from dedup.recipes.config import DedupConfig
from dedup.report.contents import Choices, Marking
from dedup.report.html import write_report
from dedup.report.replay import JudgedAgain
from dedup.report.selection import Selection
from dedup.report.side_by_side import stored_texts

T = TypeVar("T")
# So many values go by between two looks at the bar.
_EVERY = 256


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
    with index.store.unmapped(), text_output(output) as file:
        choices = Choices(
            index=source,
            config=replay.config if replay else config,
            name=short_name(index.name),
            note=str(replay or ""),
            glances=glances,
            keep=keep,
            text_of=stored_texts(index),
            marking=replace(marking, index=index.id),
            track=_track,
        )
        write_report(choices, file)


def _track(values: Iterable[T], description: str, total: int) -> Iterator[T]:
    with progress_bar(description) as tell:
        for done, value in enumerate(values, 1):
            yield value
            if done % _EVERY == 0 or done == total:
                tell(done, total)
