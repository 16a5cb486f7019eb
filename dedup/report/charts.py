"""Charts as SVG that takes its colours and its font from the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from dedup.report.overview import LOST_STEP, MOST_LOST, STEPS
from dedup.values.errors import DedupError

_SVG = "http://www.w3.org/2000/svg"
# Colours of the drawing, and what stands in their place in the page.
_COLOURS = {
    "#010101": "var(--ink)",
    "#020202": "var(--line)",
    "#030303": "var(--exact)",
    "#040404": "var(--near)",
    "#050505": "var(--edge)",
}
_INK, _LINE, _EXACT, _NEAR, _EDGE = _COLOURS
_STYLE = {
    "svg.fonttype": "none",
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.5,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "text.color": _INK,
    "font.size": 11,
}
# What a page under a strict policy would refuse as an inline style, and SVG knows as an attribute.
_ATTRIBUTES = frozenset(
    [
        "fill",
        "fill-opacity",
        "fill-rule",
        "opacity",
        "stroke",
        "stroke-dasharray",
        "stroke-dashoffset",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-width",
        "text-anchor",
    ]
)
_FONT_SIZE = re.compile(r"([\d.]+)px")


def distance_chart(counts: tuple[Sequence[int], Sequence[int]], max_distance: int | None) -> str:
    """Return a histogram of content distances (0 to 64 bits), with the threshold if there is one."""
    shown = min(max(_last(counts), max_distance or 0) + 2, len(counts[0]))
    return _histogram(
        tuple(series[:shown] for series in counts),
        [float(distance) for distance in range(shown)],
        width=0.8,
        edge=None if max_distance is None else max_distance + 0.5,
        edge_label=f"threshold: at most {max_distance}",
        label="Hamming distance of the content simhashes (bits)",
        name="distance",
    )


def similarity_chart(counts: tuple[Sequence[int], Sequence[int]], min_similarity: float | None) -> str:
    """Return a histogram of similarities (0 to 1), with the threshold if there is one."""
    return _histogram(
        counts,
        [(step + 0.5) / STEPS for step in range(STEPS)],
        width=0.8 / STEPS,
        edge=min_similarity,
        edge_label="" if min_similarity is None else f"threshold: at least {min_similarity:g}",
        label="estimated Jaccard similarity",
        name="similarity",
    )


def loss_chart(
    counts: tuple[Sequence[int], Sequence[int]], max_lost_words: float | None, edge_label: str
) -> str:
    """Return a histogram of words lost, with the threshold if there is one that it can show."""
    edge = max_lost_words if max_lost_words is not None and max_lost_words < MOST_LOST else None
    shown = min(max(_last(counts), int(edge or 0) // LOST_STEP) + 2, len(counts[0]))
    return _histogram(
        tuple(series[:shown] for series in counts),
        [(step + 0.5) * LOST_STEP for step in range(shown)],
        width=0.8 * LOST_STEP,
        edge=None if edge is None else edge + 0.5,
        edge_label=edge_label,
        label=f"words lost ({MOST_LOST} and more as {MOST_LOST})",
        name="loss",
    )


def _last(counts: Sequence[Sequence[int]]) -> int:
    """Return the last place at which something is counted."""
    return max((place for series in counts for place, count in enumerate(series) if count), default=0)


def _histogram(
    counts: Sequence[Sequence[int]],
    places: Sequence[float],
    *,
    width: float,
    edge: float | None,
    edge_label: str,
    label: str,
    name: str,
) -> str:
    matplotlib = _matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(6.2, 2.9), layout="constrained")
        axes = figure.add_subplot()
        exact, near = counts
        axes.bar(places, near, width, color=_NEAR)
        axes.bar(places, exact, width, bottom=near, color=_EXACT)
        if edge is not None:
            _draw_edge(axes, edge, edge_label)
        axes.grid(axis="y")
        axes.tick_params(length=0)
        if places[-1] > 1:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel(label)
        axes.set_ylabel("near copies")
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return _themed(drawn.getvalue())


def _draw_edge(axes: Any, edge: float, label: str) -> None:
    axes.axvline(edge, color=_EDGE, linestyle=(0, (5, 3)), linewidth=1.6)
    is_right = edge > sum(axes.get_xlim()) / 2
    axes.annotate(
        label,
        (edge, 1),
        (0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="bottom",
        color=_EDGE,
    )


def _themed(drawing: str) -> str:
    """Return an SVG drawing as an element of a page: no styles of its own, colours by name."""
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawing)  # noqa: S314  (ours, made a moment ago)
    for parent in root.iter():
        for child in [one for one in parent if one.tag.endswith(("metadata", "style"))]:
            parent.remove(child)
    for element in root.iter():
        _without_style(element)
        if element.tag.endswith("}g"):
            element.attrib.pop("id", None)  # two charts would both have it
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    text = ET.tostring(root, encoding="unicode")
    for colour, variable in _COLOURS.items():
        text = text.replace(colour, variable)
    return text


def _without_style(element: ET.Element) -> None:
    for part in element.attrib.pop("style", "").split(";"):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        if name in _ATTRIBUTES:
            element.set(name, value)
        elif name in ("font", "font-size") and (size := _FONT_SIZE.search(value)):
            element.set("font-size", size[1])


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise DedupError('the HTML report needs pip install "scrapy-dedup[report]"') from error
    return matplotlib
