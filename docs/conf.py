"""How Sphinx makes the documentation: ``make docs``."""

from __future__ import annotations

from typing import Any

from dedup import __version__

project = "scrapy-dedup"
author = "The scrapy-dedup authors"
copyright = author  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"scrapy-dedup {version}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_copy_source = False
# Options begin with two hyphens, not with a dash.
smartquotes = False

# Links to a heading of a page, as GitHub makes them too.
myst_heading_anchors = 3
highlight_language = "text"

# Docstrings write names in single backticks.
default_role = "literal"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True

# What is copied are the commands, not the prompt and what they printed.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"


def setup(app: Any) -> None:
    """Let the examples of commands stand as they are typed."""
    app.connect("sphinx-click-process-description", _quote_examples)


def _quote_examples(app: Any, context: Any, lines: list[str]) -> None:  # noqa: ARG001
    lines[:] = [quoted for line in lines for quoted in _quoted(line)]


def _quoted(line: str) -> list[str]:
    """Return the head of a block of examples, or an example in it, as reStructuredText for code."""
    if line == "| Examples:":
        return ["Examples::", ""]
    return [line.removeprefix("| ")] if line.startswith("|   ") else [line]
