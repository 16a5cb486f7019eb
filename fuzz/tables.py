"""Tables of a user (dictionary, stop words): they are read, or raise `ConfigError`.

The first byte of an input chooses the kind of table; the others are the table.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dedup", "jieba"]):
    import jieba

    from dedup.model.errors import ConfigError
    from dedup.reading import chinese as dictionary

from fuzz.engine import command

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-tables-"))


def judge(data: bytes) -> None:
    """Read *data* as a table; what is raised, other than `ConfigError`, is a finding."""
    choice, content = data[0] if data else 0, data[1:]
    path = FOLDER / "table.txt"
    path.write_bytes(content)
    dictionary.file_bytes.cache_clear()
    with suppress(ConfigError):
        if choice % 2:
            tokenizer = empty_tokenizer()
            dictionary._add_words(tokenizer, str(path))
            assert "".join(tokenizer.cut("some 武汉大会战 words", HMM=False)) == "some 武汉大会战 words"
        else:
            assert all(line.strip() == line != "" for line in dictionary.file_lines("x", str(path)))


def empty_tokenizer() -> jieba.Tokenizer:
    """Return a tokenizer that does not load jieba's own dictionary, which takes a second."""
    tokenizer = jieba.Tokenizer()
    tokenizer.initialized = True
    tokenizer.FREQ, tokenizer.total = {"武汉": 10}, 10
    return tokenizer


SEEDS = (
    *(b"\0the\nlamp\n", b"\x01\xe6\xad\xa6\xe6\xb1\x89 5 ns\nlamp n\nword\n"),
    *(b"\x02the\r\na\n", b'\x03{"text": "words"}\n"some"\n[1]\n', b"\x07<p>some words</p>"),
)

if __name__ == "__main__":
    command(judge, SEEDS)()
