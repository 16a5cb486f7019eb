"""Tables of inverse document frequencies, from documents to weights."""

from __future__ import annotations

import gzip
import json
import math
import os
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from dedup import DedupConfig
from dedup.cli import main
from dedup.files.feeds import find_feeds
from dedup.files.frequencies import count_terms, document_files, read_documents
from dedup.reading.fields import FieldRule
from dedup.recipes.fingerprinter import recipe_of
from dedup.recipes.terms import Terms
from dedup.recipes.weights import weights_of
from dedup.values.errors import ConfigError
from tests.feeds import formats


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.html").write_text("<p>the lamp</p><script>no()</script>")
    (folder / "inner" / "b.txt").write_text("the sea, the sea")
    records = [{"html": "<b>the sea"}, {"url": "http://skipped/", "title": "the", "text": "tide"}, {}]
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, records)))
    return folder


def test_documents_are_counted_once_for_each_term(corpus: Path) -> None:
    texts = [text for file in sorted(corpus.rglob("*.*")) for text in read_documents(file)]
    assert count_terms(texts) == (5, {"the": 4, "sea": 2, "lamp": 1, "tide": 1})


def test_a_table_is_counted_and_used(corpus: Path, tmp_path: Path) -> None:
    table = tmp_path / "idf.txt"
    done = CliRunner().invoke(main, ["frequencies", str(corpus), "--output", str(table)])
    assert done.exit_code == 0, done.output
    assert "2 terms of 5 documents" in done.output
    sea, the = 1 + math.log(6 / 3), 1 + math.log(6 / 5)
    assert table.read_text() == f"sea {sea:.6f}\nthe {the:.6f}\n"
    config = DedupConfig(frequencies=str(table), weights="tf_idf")
    found = weights_of(Terms.from_tokens(["the", "sea"]), "", config).tolist()
    assert found == [round(256 * the), round(256 * sea)]
    assert recipe_of(config) != recipe_of(DedupConfig(weights="tf_idf"))


def test_a_corpus_is_read_as_any_feed_is(tmp_path: Path) -> None:
    lines = ['\ufeff{"text": "the\u2028sea"}', "", '{"text": "lamp"}']
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "b.csv").write_text("url,text\nhttp://a/,the tide\n")
    found = [text for name in ("a.jsonl.gz", "b.csv") for text in read_documents(tmp_path / name)]
    assert found == ["the\u2028sea", "lamp", "the tide"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_folders_are_read_as_those_of_any_feed(corpus: Path) -> None:
    os.mkfifo(corpus / "pipe.txt")
    names = [file.relative_to(corpus).as_posix() for file in document_files([corpus])]
    assert names == ["a.html", "c.jsonl", "inner/b.txt"]


def test_a_folder_that_cannot_be_read_is_told(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: str) -> NoReturn:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ConfigError, match=r"^corpus must be files .*/corpus cannot be read: Permission"):
        document_files([corpus])


def test_what_is_no_page_in_an_archive_is_no_document(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    formats.warc(path, [("http://a/", "<p>the sea"), ("http://b/", "")])
    assert len(list(find_feeds([path], FieldRule()).feeds[0].records())) == 5
    assert list(read_documents(path)) == ["the sea", ""]


@pytest.mark.parametrize("line", ["{broken", "[" * 99_999, '"words"'])
def test_broken_lines_name_their_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "the sea"}\n' + line)
    with pytest.raises(
        ConfigError, match=r"^corpus \('.*x.jsonl'\) .* read: .*x.jsonl, line 2 is not (valid|a) JSON"
    ):
        list(read_documents(path))
    done = CliRunner().invoke(main, ["frequencies", str(path), "--output", str(tmp_path / "y")])
    assert (done.exit_code, "must be a file that can be read" in done.output) == (1, True)
