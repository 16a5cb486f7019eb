"""``dedup compare``."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from dedup.cli.options import (
    index_option,
    is_file,
    json_option,
    opened,
    settings_for,
    settings_option,
)
from dedup.cli.pages import Side, is_address, newest, page_of_file, rows_at
from dedup.cli.project import project_index, settings_of
from dedup.cli.showing import (
    agreement_record,
    explanation_record,
    show_diff,
    show_explanation,
)
from dedup.cli.terminal import console, place, print_json, url_text
from dedup.index import Row
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import fingerprint
from dedup.report.diff import word_diff
from dedup.report.explanation import Explanation, explain
from dedup.values.errors import DedupError
from dedup.values.printable import printable

# The exit code where B is no duplicate of A.
NO_DUPLICATE = 3


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@index_option
@settings_option
@json_option
def compare(
    *,
    a: str,
    b: str,
    path: Path | str | None,
    settings: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Say whether page B repeats page A, why, and what changed in the text.

    A and B are files (HTML, or plain text) or URLs in the index; of a URL it is the newest row that
    counts. Two files need no index. The settings are those of the project, of the index's recipe, or
    of -s. The two alone are compared: a crawl also knows what stands on other pages of their site.

    Words need the pages themselves: files, or rows whose pages the index keeps (DEDUP_STORE_PAGES).
    --json has the simhashes too, and what they are made of.

    The exit code is 0 if B is a copy of A, 3 if not, 1 for an error, 2 for a wrong option.

    \b
    Examples:
      dedup compare one.html other.html
      dedup compare https://example.com/a https://example.com/b
      dedup compare https://example.com/a saved.html -s DEDUP_RECIPE=min_similarity=0.8
    """
    one, other, config = _sides((a, b), path, settings)
    repeats = one.row and other.row and other.row.verdict.canonical == one.row.id
    explanation = explain(one.fingerprint, other.fingerprint, config, other.row if repeats else None)
    if as_json:
        print_json(_record(one, other, explanation, config))
    else:
        _show(one, other, explanation)
    if not explanation.match.is_duplicate:
        sys.exit(NO_DUPLICATE)


def _sides(
    names: tuple[str, str], path: Path | str | None, given: tuple[tuple[str, str], ...]
) -> tuple[Side, Side, DedupConfig]:
    missing = [name for name in names if not (is_file(name) or is_address(name))]
    if missing and path is None and not Path(project_index() or "").is_file():
        raise _neither(missing[0])
    with ExitStack() as stack:
        rows: dict[str, Row] = {}
        if path is not None or not all(map(is_file, names)):
            index = stack.enter_context(opened(path))
            settings = settings_for(index, given)
            if any(map(is_file, names)):
                index.expect(settings.config)
            if unknown := [name for name in missing if not index.views.history(name)]:
                raise _neither(unknown[0])
            rows = {name: newest(rows_at(index, name)) for name in names if not is_file(name)}
            sides = [
                Side.from_row(index, rows[name])
                if name in rows
                else _file_side(name, settings.config, index.secret)
                for name in names
            ]
        else:
            settings = settings_of(dict(given), {})
            sides = [_file_side(name, settings.config) for name in names]
    return sides[0], sides[1], settings.config


def _neither(name: str) -> DedupError:
    return DedupError(f"{printable(name)}: no such file or URL")


def _file_side(name: str, config: DedupConfig, secret: bytes = b"") -> Side:
    page = page_of_file(Path(name), config)
    return Side(name, fingerprint(page, config, secret=secret), page)


def _show(one: Side, other: Side, explanation: Explanation) -> None:
    screen = console()
    for letter, side in (("A", one), ("B", other)):
        where = f"  {place(side.row)}" if side.row else ""
        screen.print(Text.assemble(f"{letter}  ", (url_text(side.name), "bold"), where))
    matched = explanation.match
    what = "B is a copy of A" if matched.is_duplicate else "B is no copy of A"
    screen.print(Text(f"{what}: {matched.reason}", "bold"))
    show_explanation(screen, explanation, (one.page, other.page))
    if one.page and other.page:
        screen.print(Text("what differs: [-only on A-] {+only on B+}", "bold"))
        show_diff(screen, word_diff(one.page.text, other.page.text))


def _record(one: Side, other: Side, explanation: Explanation, config: DedupConfig) -> dict[str, Any]:
    record = {"a": one.name, "b": other.name, **explanation_record(explanation)}
    record |= agreement_record(one.page, other.page, config)
    if one.page and other.page:
        record["diff"] = list(map(asdict, word_diff(one.page.text, other.page.text)))
    return record
