"""The list of what is not visited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup.plugin.not_visited import LIST, Address, NotVisited


def left(folder: Path) -> list[str]:
    return [json.loads(line)["url"] for line in (folder / LIST).read_text().splitlines()]


@pytest.mark.parametrize("is_job", [True, False])
def test_addresses_are_taken_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_job: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    found = NotVisited(str(tmp_path) if is_job else "")
    for number in range(6):
        found.add(Address("ab"[number % 2], f"http://a/{number}", "secret"))
    assert found.counts() == {"a": 3, "b": 3}
    assert [one.url for one in found.take("a", 2)] == ["http://a/0", "http://a/2"]
    assert [one.request for one in found.take_urls({"http://a/3"})] == ["secret"]
    assert found.take("a", 9) == [Address("a", "http://a/4", "secret")]
    assert found.take("a") == found.take("x") == []
    assert [one.url for one in found] == ["http://a/1", "http://a/5"]
    assert "2 addresses not visited" in found.close()
    folder = tmp_path if is_job else tmp_path / ".scrapy"
    assert left(folder) == ["http://a/1", "http://a/5"]
    assert ("secret" in (folder / LIST).read_text()) is is_job


def test_a_crawl_that_visits_all_leaves_no_file(tmp_path: Path) -> None:
    found = NotVisited(str(tmp_path))
    assert found.counts() == {}
    assert found.close() == ""
    assert not (tmp_path / LIST).exists()


def test_a_job_goes_on_with_what_it_has_parked(tmp_path: Path) -> None:
    first = NotVisited(str(tmp_path))
    for number in range(3):
        first.add(Address("a", f"http://a/{number}", "secret"))
    first.close()
    with (tmp_path / LIST).open("ab") as torn:
        torn.write(b'{"why": "0", "u')
    second = NotVisited(str(tmp_path))
    assert [one.url for one in second.take("a", 2)] == ["http://a/0", "http://a/1"]
    second.close()
    assert left(tmp_path) == ["http://a/2"]
    third = NotVisited(str(tmp_path))
    third.take("a")
    assert third.close() == ""
    assert left(tmp_path) == []
