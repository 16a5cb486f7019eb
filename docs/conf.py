"""How Sphinx makes the documentation: ``make docs``."""

from dedup import __version__

project = "scrapy-dedup"
author = "The scrapy-dedup authors"
copyright = author  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"scrapy-dedup {version}"
exclude_patterns = ["_build"]

# Links to a heading of a page, as GitHub makes them too.
myst_heading_anchors = 3
# Formats of Python's that Pygments does not colour.
highlight_language = "text"

# Docstrings write names in single backticks.
default_role = "literal"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_class_signature = "mixed"

# What is copied are the commands, not the prompt and what they printed.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
