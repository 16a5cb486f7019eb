"""What is loaded when: a crawl of pages without Han characters needs no segmenter."""

import marshal
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from statistics import median_high

import mmh3
import numpy as np
import pytest

from dedup.model.hashes import hashes_of
from dedup.reading import chinese as dictionary
from dedup.reading.chinese import DICTIONARY, FREQUENCIES, han_frequencies, table_digest

CODE = """
import sys
from dedup import Detector, MemoryIndex, Page
Detector(MemoryIndex()).check(Page.from_text({!r}))
print([name for name in ('jieba', 'rjieba', 'pkg_resources') if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("text", "loads"),
    [("The tide comes in twice a day – as everywhere", False), ("灯塔路博物馆", True)],
)
def test_a_segmenter_is_loaded_with_the_first_han(text: str, *, loads: bool) -> None:
    command = [sys.executable, "-c", CODE.format(text)]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert ("jieba" in loaded) is loads
    assert loads or loaded == "[]"


@pytest.mark.parametrize(
    "planted", [marshal.dumps(({"灯": 9, "塔": 9}, 18)), marshal.dumps(7), b"junk", b""]
)
def test_words_are_those_of_the_dictionary_whatever_lies_in_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: bytes
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "jieba.cache").write_bytes(planted)
    dictionary.jieba_segmenter.cache_clear()
    assert list(dictionary.jieba_segmenter()("灯塔路博物馆")) == ["灯塔", "路", "博物馆"]
    assert (tmp_path / "jieba.cache").read_bytes() == planted


def test_the_digests_are_those_of_the_files_of_jieba() -> None:
    for path in (DICTIONARY, FREQUENCIES):
        table = files("jieba").joinpath(*path).read_bytes()
        assert table_digest(*path) == mmh3.hash_bytes(table).hex()


def test_frequencies_are_those_of_the_lines_of_jieba_and_their_median() -> None:
    lines = files("jieba").joinpath("analyse", "idf.txt").read_text("utf-8").splitlines()
    values = {word: float(value) for word, _, value in (line.rpartition(" ") for line in lines)}
    assert len(values) > 200_000
    words = [*values, "灯塔路博物馆"]
    wanted = [*values.values(), median_high(values.values())]
    assert np.array_equal(han_frequencies(hashes_of(words)), wanted)
