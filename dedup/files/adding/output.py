"""The records that were kept, written as they were read, in their own format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dedup.files.adding.adding import DROPPED, KEPT, Adding
from dedup.files.feeds import Feed, FeedError, Inputs, Record, Sink
from dedup.files.feeds.finding import format_of
from dedup.files.feeds.lines import is_compressed
from dedup.files.outputs import check_target, filling, is_vacant, replacing
from dedup.values.errors import DedupError


def check_output(output: Path, inputs: Inputs) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, in a folder that exists, and must not be one of the input files.
    """
    feeds = inputs.feeds
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        raise DedupError(
            f"--output takes one format, and the input has {', '.join(forms) or 'no file of any'}"
        )
    is_folder = forms[0] == "html"
    check_target(output, inputs.paths, is_folder=is_folder)
    wanted = format_of(output)
    if not is_folder and wanted not in ("", forms[0]):
        raise DedupError(f"{output} must be of the input's format, {forms[0]}, and not {wanted}")
    if forms[0] == "parquet" and is_compressed(output):
        raise DedupError(f"{output} must be Parquet, which is never compressed as a whole")
    first, *others = feeds
    if forms[0] == "warc" and _compressed(output, first) != is_compressed(first.path):
        raise DedupError(f"{first.name} and {output} must both be compressed, or none of them")
    alike = first.likeness()
    for other in others:
        if other.likeness() != alike:
            raise DedupError(
                f"{first.name} and {other.name} differ in their columns or compression, "
                "so they cannot be written to one file; add them one by one"
            )
    _check_place(output, is_folder=is_folder)


def _check_place(output: Path, *, is_folder: bool) -> None:
    place = output.resolve()
    if is_folder and output.exists() and not (output.is_dir() and is_vacant(output)):
        raise DedupError(f"{output} must be an empty folder, or a new one, for the files of HTML")
    if not is_folder and output.is_dir():
        raise DedupError(f"{output} must be a file")
    if output.exists() and not output.is_file():  # a folder to fill, or a device
        if not os.access(output, os.W_OK):
            raise DedupError(f"{output} must be writable")
    elif not os.access(place.parent, os.W_OK | os.X_OK):
        raise DedupError(f"{output.parent} must be a writable folder")


def write_output(output: Path, feeds: Sequence[Feed], adding: Adding) -> Iterator[float]:
    """Write what *adding* kept of *feeds*; yields the share (0 to 1) that is done, often.

    *output* appears when it is complete.  It is compressed if its name says so, or if its name shows no
    format and the input is compressed.  Raises `DedupError` if it cannot be written, or if fewer
    records can be read than were judged.
    """
    first = feeds[0]
    beside = filling if first.form == "html" else replacing
    with beside(output) as part, first.sink(part, compressed=_compressed(output, first)) as sink:
        for number, feed in enumerate(feeds):
            fates = adding.fates(number)
            with suppress(FeedError):  # it was reported when it was judged
                for record, fate in zip(feed.records(), fates, strict=False):
                    if fate != DROPPED and record.source is not None and not adding.is_dangling(record):
                        _write(sink, record, fate, output)
                    yield (number + feed.share) / len(feeds)
            if next(fates, None) is not None:
                raise _lacking(feed.name, output)


def _compressed(output: Path, first: Feed) -> bool:
    return is_compressed(output) or (not format_of(output) and is_compressed(first.path))


def _write(sink: Sink, record: Record, fate: str, output: Path) -> None:
    try:
        sink.write(record.source)
    except FeedError as error:
        if fate == KEPT:  # others were reported when they were judged
            raise _lacking(record.name, output) from error


def _lacking(name: str, output: Path) -> DedupError:
    return DedupError(
        f"{name} cannot be read again as far as it was judged: "
        f"{output} would lack pages that were kept, so it is not written"
    )
