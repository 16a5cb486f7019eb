"""Draw how a page is judged, from two real pairs of pages of the example site.

python -m benchmarks.picture docs/judging.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from crawler.example import PAGES
from dedup import DedupConfig, Fingerprint, Match, Page, compare, fingerprint

# A page that was kept, and one that comes later.
PAIRS = (
    ("/news/storm.html", "/news/storm-print.html"),
    ("/shop/oil-lamp.html", "/shop/tide-clock.html"),
)
WIDTH, TOP, ROW, PAIR_GAP, SIDE = 960, 128, 92, 40, 64
COLUMNS = {"page": 32, "content": 258, "structure": 434, "sketch": 610, "verdict": 776}
HEADS = (
    ("page", "a page", "as a reader sees it"),
    ("content", "content simhash", "64 bits of its words"),
    ("structure", "structure simhash", "64 bits of its tags"),
    ("sketch", "sketch", "256 bins of its shingles"),
    ("verdict", "verdict", "kept or dropped"),
)
STYLE = """
  .paper { fill: #ffffff; stroke: #d5dae1 } text { fill: #1d2733; font: 14px system-ui, sans-serif }
  .head { font-weight: 600; font-size: 16px } .small { font-size: 12.5px; fill: #55606e }
  .off { fill: #e3e7ec } .on { fill: #64748b } .other { fill: #e8590c } .line { stroke: #d5dae1 }
  .yes { fill: #b4440a; font-weight: 600 } .no { fill: #1b7f4b; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181d; stroke: #39424d } text { fill: #e6eaef } .small { fill: #a3aebb }
    .off { fill: #2a323b } .on { fill: #8392a5 } .other { fill: #ff8a3d } .line { stroke: #39424d }
    .yes { fill: #ff9d5c } .no { fill: #5fd39a }
  }
"""


def drawing() -> str:
    """Return the picture, as SVG."""
    height = TOP + len(PAIRS) * (2 * ROW + PAIR_GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>How a page is judged</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>',
        *_heads(),
    ]
    for number, paths in enumerate(PAIRS):
        parts += _pair(*paths, y=TOP + number * (2 * ROW + PAIR_GAP))
    return "\n".join([*parts, "</svg>", ""])


def _heads() -> Iterator[str]:
    for column, head, below in HEADS:
        yield _text(COLUMNS[column], 40, head, "head")
        yield _text(COLUMNS[column], 60, below, "small")
    yield _text(COLUMNS["content"], 92, "Near in one of them: a candidate.", "small")
    yield _text(COLUMNS["sketch"], 92, "Similar: confirmed.", "small")
    yield f'<rect class="other" x="{COLUMNS["page"]}" y="82" width="11" height="11" rx="2"/>'
    yield _text(COLUMNS["page"] + 18, 92, "differs from the page above", "small")


def _pair(kept: str, coming: str, y: int) -> Iterator[str]:
    config = DedupConfig()
    above, below = _page(kept), _page(coming)
    a, b = fingerprint(above), fingerprint(below)
    found = compare(a, b)
    yield f'<line class="line" x1="24" x2="{WIDTH - 24}" y1="{y - 14}" y2="{y - 14}"/>'
    yield from _row(above, a, a, y, "kept before")
    yield from _row(below, b, a, y + ROW, "comes now")
    notes = (
        ("content", found.content_distance, config.max_distance),
        ("structure", found.structure_distance, config.structure_max_distance),
    )
    foot = y + ROW + SIDE + 20
    for column, distance, limit in notes:
        assert distance is not None
        sign, kind = ("≤", "yes") if distance <= limit else (">", "small")
        yield _text(COLUMNS[column], foot, f"{distance} bits differ, {sign} {limit}", kind)
    yield from _ending(found, config, y + ROW, foot)


def _row(page: Page, own: Fingerprint, other: Fingerprint, y: int, when: str) -> Iterator[str]:
    yield _text(COLUMNS["page"], y + 26, page.url)
    yield _text(COLUMNS["page"], y + 46, when, "small")
    for column in ("content", "structure"):
        value, above = own.simhash(column), other.simhash(column)
        yield _grid(COLUMNS[column], y, 8, _bits(value, value ^ above))
    yield _grid(COLUMNS["sketch"], y, 16, _bins(own.sketch, other.sketch))


def _ending(found: Match, config: DedupConfig, y: int, foot: int) -> Iterator[str]:
    sign = "≥" if found.similarity >= config.min_similarity else "<"
    kind = "yes" if sign == "≥" else "small"
    text = f"similarity {found.similarity:.2f} {sign} {config.min_similarity}"
    yield _text(COLUMNS["sketch"], foot, text, kind)
    lines: Sequence[str] = ("dropped:", "its text is nearly", "that of the page above")
    if not found.is_duplicate:
        lines = ("kept:", "the template is the", "same, the text is not")
    yield _text(COLUMNS["verdict"], y + 10, found.reason.value, "yes" if found.is_duplicate else "no")
    for number, line in enumerate(lines):
        yield _text(COLUMNS["verdict"], y + 30 + 17 * number, line, "small")


def _page(path: str) -> Page:
    return Page.from_html((PAGES / path.removeprefix("/")).read_bytes(), url=path)


def _bits(value: int, differing: int) -> list[str]:
    kinds = ["on" if value >> bit & 1 else "off" for bit in range(64)]
    return ["other" if differing >> bit & 1 else kind for bit, kind in enumerate(kinds)]


def _bins(own: bytes, other: bytes) -> list[str]:
    return [
        "other" if mine != theirs else ("on" if mine else "off")
        for mine, theirs in zip(own, other, strict=True)
    ]


def _grid(x: int, y: int, side: int, kinds: Iterable[str]) -> str:
    """Return squares in rows of *side*, `SIDE` wide in all, as a path for each kind."""
    step = SIDE / side
    size = step - 1.5 if side == 8 else step - 0.8
    paths: dict[str, str] = {}
    for number, kind in enumerate(kinds):
        left, top = x + number % side * step, y + number // side * step
        paths[kind] = paths.get(kind, "") + f"M{left:g} {top:g}h{size:g}v{size:g}h-{size:g}z"
    return "\n".join(f'<path class="{kind}" d="{path}"/>' for kind, path in sorted(paths.items()))


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x}" y="{y}">{escape(text)}</text>'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawing(), "utf-8")
