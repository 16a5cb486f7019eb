"""Which words two texts have in common, and which not."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

# Words beyond this are not compared: the time grows with the square of what differs.
MAX_WORDS = 4000

# Scripts that part no words are compared character by character.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|"
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)

Change = tuple[str, list[str], list[str]]


def word_diff(a: str, b: str) -> list[Change]:
    """Return how to make the words of *b* of those of *a*: what happens, to which, into which.

    What happens is `equal`, `delete`, `insert` or `replace`.  Of each text the first `MAX_WORDS` words
    are compared; a character of Chinese, Japanese, Thai and the like counts as a word.

    >>> word_diff("one two three", "one 2 three")
    [('equal', ['one'], ['one']), ('replace', ['two'], ['2']), ('equal', ['three'], ['three'])]
    """
    one, two = words_to_compare(a), words_to_compare(b)
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    return [(op, one[i:j], two[k:m]) for op, i, j, k, m in matcher.get_opcodes()]


def words_to_compare(text: str) -> list[str]:
    """Return the first words of *text*, as it writes them."""
    return [found.group() for _, found in zip(range(MAX_WORDS), _WORD.finditer(text), strict=False)]
