"""What hostile pages cost, each as large as `MAX_BYTES` lets through: processor time, and memory beside the body.

    python -m benchmarks.bombs
    python -m benchmarks.bombs "words" "tags"

Each bomb is measured in a process of its own.  Memory is the peak of the process, less what it had when the
body was loaded.
"""

from __future__ import annotations

import ctypes
import gc
import json
import random
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, count, takewhile
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks.child import child, peak_mb, resident_mb
from benchmarks.tables import Table
from dedup import Page, fingerprint
from dedup.reading.markup import MAX_BYTES

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def repeated(part: str, encoding: str = "utf-8") -> Callable[[int], bytes]:
    unit = part.encode(encoding)
    return lambda size: unit * (size // len(unit))


def wrapped(before: str, part: str, after: str) -> Callable[[int], bytes]:
    inside = repeated(part)
    room = len((before + after).encode())
    return lambda size: before.encode() + inside(size - room) + after.encode()


def numbered(form: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """Return a maker of *form* with 0, 1, 2, ... in it, in hexadecimal digits."""

    def make(size: int) -> bytes:
        room = size - len(before) - len(after)
        ends = accumulate(len(form.format(number)) for number in count())
        fitting = sum(1 for _ in takewhile(room.__ge__, ends))
        return (before + "".join(map(form.format, range(fitting))) + after).encode()

    return make


def drawn(first: int, last: int) -> Callable[[int], bytes]:
    """Return a maker of random characters of the range."""
    letters = [chr(code) for code in range(first, last)]
    return lambda size: "".join(
        random.Random(1).choices(letters, k=size // len(letters[0].encode()))
    ).encode()


DTD = "<!DOCTYPE html [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {one} '{f'&{other};' * 10}'>" for other, one in zip("abcdefg", "bcdefgh", strict=True)
)

BOMBS: dict[str, Callable[[int], bytes]] = {
    "words": repeated("some words of a text "),
    "paragraphs": repeated("<p>the same old words again</p>"),
    "one line, one word": repeated("a"),
    "different words": numbered("{:x} "),
    "numbers with dots": repeated("1."),
    "tags": repeated("<p>"),
    "empty tags": repeated("<br>"),
    "deep tags": repeated("<div>"),
    "misnested tags": repeated("<b><p></b>"),
    "end tags in the deep": wrapped("<div>" * 200, "</b>", ""),
    "regions": repeated("<nav>a</nav>b"),
    "links": repeated("<a href=a>"),
    "comments": repeated("<!---->a"),
    "instructions": repeated("<?a>"),
    "attributes of one tag": numbered("x{:x} ", "<p ", ">"),
    "attributes with quoted ends": numbered('x{:x}=">" ', "<p ", ">"),
    "attributes of many tags": repeated(f"<p {' '.join(LETTERS)}>"),
    "values of many tags": repeated(f"<p {' '.join(f'{letter}=1' for letter in LETTERS)}>"),
    "one long value": wrapped("<p class='", "a b ", "'>"),
    "one long title": wrapped("<title>", "a b ", "</title>"),
    "one long canonical link": wrapped("<link rel=canonical href='", "/a", "'>"),
    "entities": repeated("&lt;"),
    "unknown entities": repeated("&nosuch;"),
    "entities of entities": wrapped(DTD + "]><p>", "&h;", ""),
    "marks on one letter": wrapped("a", "\u0301", ""),
    "marks out of order": wrapped("a", "\u0301\u0316", ""),
    "marks that become two": wrapped("a", "\u0f73", ""),
    "one letter becomes 18": repeated("\ufdfa"),
    "one letter becomes 4": repeated("\u3300"),
    "directions": repeated("\u202eabc \u202c"),
    "accents": repeated("é "),
    "accents in latin-1": repeated("é ", "latin-1"),
    "kana": drawn(0x3041, 0x3097),
    "Han": drawn(0x4E00, 0x9F00),
    "Thai": drawn(0x0E01, 0x0E30),
    "Han words": repeated("的 "),
    "declarations": wrapped("", "<meta charset=", "\xff"),
    "spaces in a declaration": wrapped("<meta charset", " ", "=x>"),
    "random bytes": lambda size: random.Random(2).randbytes(size),
    "UTF-16": lambda size: "\ufeff".encode("utf-16-le") + repeated("a ", "utf-16-le")(size - 2),
    "NUL bytes": repeated("\0"),
}


class Cost(NamedTuple):
    """What one page cost: bytes, seconds of the processor, megabytes; and which limit it is over."""

    size: int
    seconds: float
    megabytes: float
    excess: str


def measured(name: str) -> Cost:
    """Return what the bomb *name* costs, measured in a process of its own."""
    return Cost(*child("benchmarks.bombs", "--child", name))


def cost_here(body: bytes) -> Cost:
    """Return what *body* costs in this process, whose peak of memory is forgotten."""
    fingerprint(Page.from_html("<p>load the tables: 武汉</p>"))
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident_mb()
    Path("/proc/self/clear_refs").write_text("5")
    began = time.process_time()
    page = Page.from_html(body)
    fingerprint(page)
    return Cost(len(body), time.process_time() - began, peak_mb() - before, str(page.excess or ""))


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(BOMBS)))
@click.option("--child", "is_child", is_flag=True, hidden=True)
def main(names: Sequence[str], is_child: bool) -> None:
    if is_child:
        click.echo(json.dumps(cost_here(BOMBS[names[0]](MAX_BYTES))))
        return
    rows = []
    for name in names or BOMBS:
        size, seconds, megabytes, excess = measured(name)
        rows.append((name, f"{size / 1e6:.1f}", f"{seconds:.2f}", f"{megabytes:.0f}", excess or "-"))
    head = ("bomb", "body, MB", "seconds", "memory, MB", "over the limit of")
    click.echo(Table("Bombs", head, rows).markdown())


if __name__ == "__main__":
    main()
