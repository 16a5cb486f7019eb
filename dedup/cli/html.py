"""``dedup report --format html``."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from dedup.cli.output import text_output, working
from dedup.index import Index
from dedup.index.address import short_name
from dedup.recipes.config import DedupConfig
from dedup.report.clusters import Selection
from dedup.report.html import Choices, Marking, write_report
from dedup.report.losses import stored_pages
from dedup.report.replay import JudgedAgain


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
    marking: Marking = Marking(),  # noqa: B008 - a frozen value
) -> None:
    """Write the HTML report on the *selection* of *index*, or of its *replay*."""
    source = replay.index if replay else index
    with working("reading"), text_output(output) as file:
        choices = Choices(
            index=source,
            config=replay.config if replay else config,
            name=short_name(index.name),
            note=str(replay or ""),
            glances=selection.glances(source),
            page_of=stored_pages(index),
            marking=replace(marking, index=index.id),
        )
        write_report(choices, file)
