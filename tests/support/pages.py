"""Pages made for tests: texts of which it is known how alike they are."""

import random

import pytest

from dedup import Page
from dedup.prints.fingerprinter import RECIPE_VERSION

_WORDS = [f"word{number}" for number in range(5000)]


def text(seed: int, words: int = 120) -> str:
    """Return a text that shares next to nothing with those of other seeds."""
    return " ".join(random.Random(seed).choices(_WORDS, k=words))


def edited(seed: int, edits: int = 1, words: int = 120) -> str:
    """Return `text` with its last *edits* words replaced by identifiers, as of sessions.

    Other words would stand where no page has them, and so keep it on a site that is known.
    """
    return " ".join(text(seed, words).split()[: words - edits] + [f"feed{n:04}" for n in range(edits)])


def told_elsewhere() -> list[str]:
    """Return three texts, of which the last repeats the first and a part of the second, 500 words."""
    first, second = text(5, 400), text(6, 100)
    before = " ".join(first.split()[-3:])  # so that no shingle is on the last page only
    return [first, f"{before} {second} {text(7, 300)}", f"{first} {second}"]


def of_another_recipe(patch: pytest.MonkeyPatch) -> str:
    """Make fingerprints those of a later release, and return what an index of this one says of it."""
    patch.setattr("dedup.prints.fingerprinter.RECIPE_VERSION", version := RECIPE_VERSION + 1)
    return f"was built by a release with recipe={RECIPE_VERSION}, this one has recipe={version}"


def page(content: str, url: str = "", *, template: int = 0) -> Page:
    tags = "".join(f"<div><ul><li>{'<b></b>' * n}</li></ul></div>" for n in range(template % 7))
    return Page.from_html(f"<html><body>{tags}<p>{content}</p></body></html>", url=url)
