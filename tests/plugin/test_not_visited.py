"""The list of what is not visited."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.plugin.requests import LIST, Address, NotVisited
from tests.budget import examples


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


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "kill", "close"]), st.integers(0, 3))))
@settings(max_examples=examples(50), deadline=None)
def test_it_is_a_list_whatever_ends_the_process(steps: list[tuple[str, int]]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        found, model, number = NotVisited(folder), dict[str, list[str]](), 0
        for step, why in steps:
            if step == "add":
                number += 1
                found.add(Address(str(why), f"u{number}"))
                model.setdefault(str(why), []).append(f"u{number}")
            elif step == "take":
                taken = [one.url for one in found.take(str(why), 2)]
                assert taken == model.get(str(why), [])[:2]
                model[str(why)] = model.get(str(why), [])[2:]
            else:
                if step == "close":
                    found.close()
                elif (file := Path(folder, LIST)).exists():
                    with file.open("ab") as torn:
                        torn.write(random.Random(why).choice([b"", b'{"why": "0", "u', b"\xff\n"]))
                found = NotVisited(folder)
            assert found.counts() == {
                name: len(of)
                for name, of in sorted(model.items(), key=lambda one: (-len(one[1]), one[0]))
                if of
            }
        assert sorted(one.url for one in found) == sorted(url for of in model.values() for url in of)
        found.close()
