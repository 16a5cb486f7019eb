from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, MemoryIndex, Page, fingerprint
from dedup.cli import main
from dedup.files.adding.adding import Adding, AddOptions
from dedup.files.contexts import read_sites
from dedup.files.feeds import find_feeds
from dedup.reading.fields import FieldRule
from dedup.recipes.fingerprinter import recipe_of
from dedup.rule.frozen import FrozenSites, counted, name_of
from dedup.rule.site import COMMON_PAGES, COMMON_SHARE, told_by
from dedup.values.errors import DedupError
from tests.contexts import write_sites
from tests.feeds import formats
from tests.pages import told_elsewhere

SAMPLES = st.lists(st.sets(st.integers(0, 40), max_size=12), max_size=130)


def sample(hashes: set[int]) -> bytes:
    return np.array(sorted(hashes), "<u4").tobytes()


def told(page: Page) -> bytes:
    found = fingerprint(page)
    return told_by(found.sample, found.traits)


def frozen(pages: dict[str, list[bytes]]) -> FrozenSites:
    hosts = {host: counted(samples) for host, samples in pages.items()}
    return FrozenSites(hosts, name_of(hosts))


@given(SAMPLES, SAMPLES, st.sets(st.integers(0, 60), max_size=20))
def test_says_what_counting_says(one: list[set[int]], other: list[set[int]], asked: set[int]) -> None:
    sites = frozen({"a": list(map(sample, one)), "b": list(map(sample, other))})
    at_a = Counter(number for page in one for number in page)
    at_b = Counter(number for page in other for number in page)
    common_at_a = [at_a[n] >= max(COMMON_PAGES, COMMON_SHARE * len(one)) for n in sorted(asked)]
    common_at_b = [at_b[n] >= max(COMMON_PAGES, COMMON_SHARE * len(other)) for n in sorted(asked)]
    site = sites.site("a")
    assert site.pages == len(one)
    assert site.common(sample(asked)).tolist() == common_at_a
    assert site.unknown(sample(asked)).tolist() == [not at_a[n] for n in sorted(asked)]
    both = [x or y for x, y in zip(common_at_a, common_at_b, strict=True)]
    assert site.beside("b").common(sample(asked)).tolist() == both
    assert site.beside("b").unknown(sample(asked)).tolist() == site.unknown(sample(asked)).tolist()
    assert site.beside("a") is site
    nowhere = sites.site("c")
    assert nowhere.pages == 0
    assert not nowhere.common(sample(asked)).any()
    assert nowhere.unknown(sample(asked)).all()


@given(st.dictionaries(st.text("ab.", max_size=4), SAMPLES, max_size=3))
def test_comes_back_from_its_file(pages: dict[str, list[set[int]]]) -> None:
    sites = frozen({host: list(map(sample, samples)) for host, samples in pages.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sites.parquet")
        write_sites(sites, path)
        back = read_sites(path)
    assert back.name == sites.name
    assert sorted(back.hosts) == sorted(sites.hosts)
    for host, counts in sites.hosts.items():
        assert back.hosts[host].pages == counts.pages
        assert back.hosts[host].hashes.tolist() == counts.hashes.tolist()
        assert back.hosts[host].counts.tolist() == counts.counts.tolist()


def test_its_name_tells_what_it_knows() -> None:
    one, other = frozen({"a": [sample({1})]}), frozen({"b": [sample({1})]})
    assert one.name != other.name != frozen({"a": [sample({1}), sample({1})]}).name
    assert one.name == frozen({"a": [sample({1})]}).name


@pytest.mark.parametrize(
    "columns",
    [
        {"host": ["a"], "pages": [1], "hashes": [b"12345678"], "counts": [b"12"]},
        {"host": ["a"], "pages": [1], "hashes": [b"12341234"], "counts": [b"1212"]},
        {"host": ["a"], "pages": [-1], "hashes": [b""], "counts": [b""]},
        {"host": ["a"], "pages": [1], "hashes": [b"123"], "counts": [b"12"]},
        {"host": ["a"]},
    ],
)
def test_a_damaged_file_is_refused(columns: dict[str, list[object]], tmp_path: Path) -> None:
    path = tmp_path / "sites.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(DedupError, match=r"sites\.parquet"):
        read_sites(path)


def test_no_parquet_and_no_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(DedupError, match="can be read"):
        read_sites(tmp_path / "x.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DedupError, match="no file of Parquet"):
        read_sites(tmp_path / "empty")


def test_an_index_judges_by_what_is_frozen(tmp_path: Path) -> None:
    first, second, both = told_elsewhere()
    pages = [("http://a/1", f"<body><p>{first}</p>"), ("http://a/2", f"<body><p>{second}</p>")]
    last = ("http://a/3", f"<body><p>{both}</p>")
    samples = {url: told(Page.from_html(html)) for url, html in pages}
    formats.jsonl(tmp_path / "all.jsonl", [pages[0], last])

    def dropped(sites: FrozenSites | None) -> int:
        choices = AddOptions(config=DedupConfig(), sites=sites, record=True)
        with MemoryIndex() as index:
            adding = Adding(index, find_feeds([tmp_path / "all.jsonl"], FieldRule()), choices)
            for tally in adding.work():
                found = tally.counts["dropped"]
            return found

    assert dropped(None) == 0, "what stands on /2 is not known"
    assert dropped(frozen({"a": list(samples.values())})) == 1
    assert dropped(frozen({"b": list(samples.values())})) == 0


def test_add_takes_a_context_and_goes_on_with_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # outside of our own Scrapy project
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    first, second, both = told_elsewhere()
    pages = [("http://a/1", f"<body><p>{first}</p>"), ("http://a/3", f"<body><p>{both}</p>")]
    formats.jsonl(tmp_path / "all.jsonl", pages)
    known = [told(Page.from_text(words)) for words in (first, second)]
    write_sites(frozen({"a": known}), tmp_path / "sites.parquet")
    command = ["add", str(tmp_path / "all.jsonl"), "--jobs", "1", "--json", "--index"]
    runner = CliRunner()
    plain = runner.invoke(main, [*command, str(tmp_path / "x.db")])
    assert '"dropped": 0' in plain.stdout, plain.output
    by_context = [*command, str(tmp_path / "y.db"), "--context", str(tmp_path / "sites.parquet")]
    assert '"dropped": 1' in runner.invoke(main, by_context).stdout
    assert AddOptions().signature != AddOptions(sites=frozen({"a": known})).signature


def test_a_context_of_another_recipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    write_sites(frozen({"a": [sample({1})]}), tmp_path / "context" / "x.parquet")
    recipe = recipe_of(DedupConfig())
    (tmp_path / "job.json").write_text(json.dumps({"recipe": recipe}))
    assert read_sites(tmp_path / "context", recipe).hosts["a"].pages == 1
    with pytest.raises(DedupError, match="hash_seed=0, now hash_seed=5"):
        read_sites(tmp_path / "context", recipe_of(DedupConfig(hash_seed=5)))
    (tmp_path / "job.json").write_text("no")
    assert read_sites(tmp_path / "context", recipe_of(DedupConfig(hash_seed=5))).hosts
