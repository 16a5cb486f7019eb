from __future__ import annotations

from dedup import Detector
from dedup.index import Index
from tests.pages import edited, page, text


def test_copies_of_a_page_come_newest_first(index: Index) -> None:
    with Detector(index) as detector:
        detector.check(page(text(1), "http://a/1"))
        detector.check(page(edited(1), "http://a/2"))
        detector.check(page(text(3), "http://a/3"))
        detector.check(page(edited(1, 2), "http://a/4"))
    assert [row.id for row in index.views.copies_of(1, 10)] == [4, 2]
    assert [row.id for row in index.views.copies_of(1, 1)] == [4]
    assert index.views.copies_of(3, 10) == []
