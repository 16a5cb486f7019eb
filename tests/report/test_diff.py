from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup.report.diff import word_diff, words_to_compare

texts = st.text("ab 中文 \n", max_size=40)


@given(texts, texts)
def test_a_diff_makes_both_texts_again(a: str, b: str) -> None:
    changes = word_diff(a, b)
    assert [word for _, of_a, _ in changes for word in of_a] == words_to_compare(a)
    assert [word for _, _, of_b in changes for word in of_b] == words_to_compare(b)
    for op, of_a, of_b in changes:
        assert (of_a == of_b) is (op == "equal")
        assert (bool(of_a), bool(of_b)) == (op != "insert", op != "delete")


def test_characters_of_chinese_are_words() -> None:
    assert word_diff("上海天气 ok", "北海天气 ok") == [
        ("replace", ["上"], ["北"]),
        ("equal", ["海", "天", "气", "ok"], ["海", "天", "气", "ok"]),
    ]
