"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import IO, Any

from dedup import __version__
from dedup.report import sentences
from dedup.report.contents import Choices, Contents, contents_of
from dedup.report.embedded import embedded
from dedup.values.errors import DedupError
from dedup.values.printable import printable

# The parts of the script, in the order in which they need each other.
SCRIPTS = ("elements", "table", "texts", "pages", "parts", "review", "moving")


def write_report(choices: Choices, file: IO[str]) -> None:
    """Write the report of *choices*; raises `DedupError` where the extra ``report`` is not installed."""
    template = _template()
    contents = contents_of(choices)
    trusted = {"style": _asset("report.css"), "script": _script()}
    hashes = {f"{name}_hash": _digest(text) for name, text in trusted.items()}
    trusted["data"] = _json(embedded(contents))
    for part in template.stream(**_context(contents), **hashes, **_markup(trusted)):
        file.write(part)


def _context(contents: Contents) -> dict[str, object]:
    overview = contents.overview
    return {
        "name": printable(contents.choices.name),
        "version": __version__,
        "is_served": bool(contents.choices.marking.token),
        "marks_name": printable(contents.choices.marking.name),
        "headline": sentences.headline(overview),
        "answer": str(contents.answer),
        "is_losing": contents.answer.losing > 0,
        "tiles": sentences.tiles(overview),
        "is_partial": contents.left_out > 0,
        "facts": sentences.facts(contents),
        "left_out": list(sentences.left_out(contents)),
    }


def _json(data: dict[str, object]) -> str:
    """Return *data* as JSON that ends no script element and starts no comment, in ASCII."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script() -> str:
    """Return the script: its parts in one function, so that they are no names of the window."""
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _asset(name: str) -> str:
    return files("dedup.report").joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise DedupError('the HTML report needs pip install "scrapy-dedup[report]"') from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_asset("report.html"))


def _markup(trusted: Any) -> Any:
    """Return text of ours, or each value of a map of such, as what needs no escaping."""
    from markupsafe import Markup

    if isinstance(trusted, dict):
        return {name: Markup(text) for name, text in trusted.items()}  # noqa: S704
    return Markup(trusted)  # noqa: S704
