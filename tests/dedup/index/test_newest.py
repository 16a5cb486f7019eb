from __future__ import annotations

import pytest

from dedup import Detector
from dedup.index import Index
from tests.pages import edited, page, text


@pytest.fixture
def filled(index: Index) -> Index:
    with Detector(index) as detector:
        detector.check(page(text(1), "http://a/One"))
        detector.check(page(edited(1), "http://a/two"))
    with Detector(index) as detector:
        detector.check(page(text(3), "http://b/%_one"))
        detector.check(page(edited(3), "http://b/'four\""))
    return index


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, [4, 3, 2, 1]),
        ({"before": 3}, [2, 1]),
        ({"copies": True}, [4, 2]),
        ({"run": 1}, [2, 1]),
        ({"run": 9}, []),
        ({"part": "ONE"}, [3, 1]),
        ({"part": "%_"}, [3]),
        ({"part": "'four\""}, [4]),
        ({"part": "http", "copies": True, "before": 4}, [2]),
    ],
)
def test_newest_gives_the_rows_asked_for(
    filled: Index, wanted: dict[str, object], ids: list[int]
) -> None:
    assert [row.id for row in filled.views.newest(10, **wanted)] == ids  # type: ignore[arg-type]
    assert [row.id for row in filled.views.newest(1, **wanted)] == ids[:1]  # type: ignore[arg-type]
