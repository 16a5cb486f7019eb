"""``dedup find``."""

from __future__ import annotations

import re
from pathlib import Path

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
from dedup.cli.pages import newest, page_of_file, rows_at
from dedup.cli.terminal import console, place, print_json, row_record, url_text, working
from dedup.index import Index, Row
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import fingerprint
from dedup.rule.loss import loses, words_of
from dedup.rule.match import match
from dedup.values.fingerprint import Fingerprint
from dedup.values.match import Match
from dedup.values.simhashes import SIMHASH_BITS
from dedup.values.verdict import Reason

_MOST = 20
_URL = re.compile(r"\w+://\S+")


@click.command()
@click.argument("what", metavar="FILE|URL|TEXT")
@index_option
@settings_option
@click.option(
    "--max-distance",
    type=click.IntRange(0, SIMHASH_BITS),
    help="How many bits of the content simhash may differ [default: max_distance of DEDUP_RECIPE].",
)
@json_option
def find(
    *,
    what: str,
    path: Path | str | None,
    settings: tuple[tuple[str, str], ...],
    max_distance: int | None,
    as_json: bool,
) -> None:
    """List the pages of the index that are near a page, the nearest first, at most twenty.

    The page is a file (HTML or plain text), a URL that the index knows, or else the text itself. It is
    compared with the pages that a crawl would compare it with: all that were kept and are not
    forgotten, in all scopes. A page is near if its content simhash differs in at most --max-distance
    bits (64 lists all pages), if its structure simhash differs in at most the structure_max_distance
    of the recipe, or if its bytes are the same. "loses" says how many of its words are not on that page.
    "copy" marks the pages that the page would be dropped for, by the two alone: a crawl also knows
    what stands on the other pages of its site.

    \b
    Examples:
      dedup find saved.html
      dedup find https://example.com/page --max-distance 20
      dedup find "The tide turns twice a day" --max-distance 64
    """
    with opened(path) as index:
        config = settings_for(index, settings).config
        page, own = _asked(index, what, config)
        reach = config.max_distance if max_distance is None else max_distance
        with working("searching"):
            nearest = _near(index, page, own, config, reach=reach)
    if as_json:
        print_json([_record(row, how, page) for row, how in nearest])
        return
    screen = console()
    if not nearest:
        screen.print(Text("nothing in the index is near it"))
        return
    screen.print(Text(f"content structure similarity  {'loses':<23}        page", "bold"))
    for row, how in nearest:
        copy = "copy" if how.is_duplicate else ""
        measures = f"{_bits(how.content_distance)} {_bits(how.structure_distance):>9}"
        lost = "-" if how.lost is None else loses(how.lost, words_of(page))
        where = f"{url_text(row.sighting.url)}  {place(row)}"
        screen.print(Text(f"{measures} {how.similarity:>10.2f}  {lost:<23}  {copy:<4}  {where}"))


def _asked(index: Index, what: str, config: DedupConfig) -> tuple[Fingerprint, int | None]:
    """Return the fingerprint of what is asked about, and its own row if it has one."""
    if is_file(what):
        index.expect(config)
        page = page_of_file(Path(what), config)
        return fingerprint(page, config, secret=index.secret), None
    if _URL.fullmatch(what) or index.views.history(what):
        row = newest(rows_at(index, what))
        return row.sighting.fingerprint, row.id
    index.expect(config)
    page = Page.from_text(what, max_bytes=config.max_bytes)
    return fingerprint(page, config, secret=index.secret), None


def _near(
    index: Index,
    page: Fingerprint,
    own: int | None,
    config: DedupConfig,
    *,
    reach: int,
) -> list[tuple[Row, Match]]:
    near = index.views.near(page, max_distance=reach, limit=_MOST + 1)
    near += index.views.near(
        page, field="structure", max_distance=config.structure_max_distance, limit=_MOST + 1
    )
    rows = [*index.views.with_body(page.body_digest, _MOST + 1), *(neighbour.row for neighbour in near)]
    others = {row.id: row for row in rows if row.id != own}
    matches = [(row, match(row.sighting.fingerprint, page, config)) for row in others.values()]
    return sorted(matches, key=_order)[:_MOST]


def _order(candidate: tuple[Row, Match]) -> tuple[bool, int, int, int]:
    row, how = candidate
    is_exact = how.reason is Reason.EXACT_DUPLICATE  # with no words there is no distance
    far = SIMHASH_BITS + 1
    distances = (how.content_distance, how.structure_distance)
    content, structure = (far if distance is None else distance for distance in distances)
    return not is_exact, content, structure, row.id


def _record(row: Row, how: Match, page: Fingerprint) -> dict[str, object]:
    """Return a row, with how *page*, which was asked about, stands to it."""
    return row_record(row) | {
        "content_distance": how.content_distance,
        "structure_distance": how.structure_distance,
        "similarity": how.similarity,
        "lost": how.lost,
        "missing": how.missing,
        "asked_words": words_of(page),
        "is_duplicate": how.is_duplicate,
    }


def _bits(distance: int | None) -> str:
    return f"{'-' if distance is None else distance:>7}"
