"""Histograms as SVG that takes its colours and its font from the page around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from dedup.report.overview import LOST_STEP, MOST_LOST, STEPS

_WIDTH, _HEIGHT = 500, 240
# Where the bars are: room for the threshold above them, and for numbers and names on two sides.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 488, 24, 192
_MOST_TICKS = 6
# Bars that are left out on the right of the last one and of the threshold.
_ROOM = 2


@dataclass(frozen=True, slots=True)
class Bars:
    """What a histogram shows of what *label* names: bar n stands for *counts* n.

    It begins at *first* + n * *step*.
    The threshold *edge*, named by *edge_label*, is None where there is none.
    """

    counts: Sequence[int]
    first: float
    step: float
    label: str
    edge: float | None = None
    edge_label: str = ""

    def x(self, value: float) -> float:
        """Return where *value* is, in units of the drawing."""
        return _LEFT + (value - self.first) / (self.step * len(self.counts)) * (_RIGHT - _LEFT)

    def y(self, count: float) -> float:
        """Return how far down a bar of *count* begins."""
        return _BOTTOM - count / max(1, *self.counts) * (_BOTTOM - _TOP)


def distance_bars(counts: Sequence[int], max_distance: int | None) -> Bars:
    """Return content distances (0 to 64 bits), with the threshold if there is one."""
    shown = _shown(counts, max_distance or 0)
    label = "Hamming distance of the content simhashes (bits)"
    if max_distance is None:
        return Bars(shown, -0.5, 1, label)
    return Bars(shown, -0.5, 1, label, max_distance + 0.5, f"threshold: at most {max_distance}")


def similarity_bars(counts: Sequence[int], min_similarity: float | None) -> Bars:
    """Return similarities (0 to 1), with the threshold if there is one."""
    label = "" if min_similarity is None else f"threshold: at least {min_similarity:g}"
    return Bars(counts, 0, 1 / STEPS, "estimated Jaccard similarity", min_similarity, label)


def loss_bars(counts: Sequence[int], max_lost_words: float | None, edge_label: str) -> Bars:
    """Return words lost, with the threshold if there is one that the drawing can show."""
    is_shown = max_lost_words is not None and max_lost_words < MOST_LOST
    edge = max_lost_words if is_shown else None
    shown = _shown(counts, int(edge or 0) // LOST_STEP)
    label = f"words lost ({MOST_LOST} and more as {MOST_LOST})"
    return Bars(shown, 0, LOST_STEP, label, None if edge is None else edge + 0.5, edge_label)


def _shown(counts: Sequence[int], edge: int) -> Sequence[int]:
    last = max((place for place, count in enumerate(counts) if count), default=0)
    return counts[: max(last, edge) + _ROOM]


def drawn(bars: Bars) -> str:
    """Return the drawing, as an element of a page."""
    parts = (*_grid(bars), *_bars(bars), *_edge(bars), *_names(bars))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="13" fill="var(--ink)" aria-hidden="true" '
        f'focusable="false">{"".join(parts)}</svg>'
    )


def _grid(bars: Bars) -> Iterator[str]:
    for count in ticks(0, max(1, *bars.counts), whole=True):
        y = bars.y(count)
        yield f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="var(--line)"/>'
        yield _text(_LEFT - 6, y + 4, f"{count:,.0f}", "end")
    last = bars.first + bars.step * len(bars.counts)
    for value in ticks(bars.first, last, whole=bars.step >= 1):
        yield _text(bars.x(value), _BOTTOM + 17, f"{value:g}")


def _bars(bars: Bars) -> Iterator[str]:
    width = 0.8 * (_RIGHT - _LEFT) / len(bars.counts)
    for number, count in enumerate(bars.counts):
        if count:
            x, y = bars.x(bars.first + (number + 0.5) * bars.step) - width / 2, bars.y(count)
            shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOTTOM - y:.1f}"'
            yield f'<rect {shape} fill="var(--near)"/>'


def _edge(bars: Bars) -> Iterator[str]:
    if bars.edge is not None:
        x = bars.x(bars.edge)
        line = 'stroke="var(--edge)" stroke-width="2" stroke-dasharray="6 4"'
        yield f'<path d="M{x:.1f} {_TOP - 4}V{_BOTTOM}" {line}/>'
        side = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
        yield _text(x, _TOP - 10, bars.edge_label, side, "var(--edge)")


def _names(bars: Bars) -> Iterator[str]:
    yield _text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, bars.label)
    y = (_TOP + _BOTTOM) / 2
    yield f'<g transform="rotate(-90 14 {y:g})">{_text(14, y, "near copies")}</g>'


def _text(x: float, y: float, text: str, side: str = "middle", colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{side}"{fill}>{text}</text>'


def ticks(first: float, last: float, *, whole: bool) -> list[float]:
    """Return round numbers from *first* to *last*, evenly spread, at most seven; *whole* if asked.

    >>> ticks(0, 9, whole=True), ticks(-0.5, 16, whole=True)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 5.0, 10.0, 15.0])
    """
    extent = last - first
    power = 10.0 ** floor(log10(extent / _MOST_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if extent / (power * factor) <= _MOST_TICKS)
    step = max(1, step) if whole else step
    return [number * step for number in range(ceil(first / step), floor(last / step + 1e-9) + 1)]
