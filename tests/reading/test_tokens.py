from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.native._pages import MOST_MARKS
from dedup.reading.chinese import DICTIONARY, RJIEBA_DICTIONARY, jieba_segmenter, table_digest
from dedup.reading.tokens import SIGNS, normalized, tokens
from tests.oracle.prints import token_lines

SCRIPTS = "aZ9_ 12.,:<=+#|CCB-\\~ΣΑ’＋\u0338กำี่မြန်မាខकि्ষِ้שָܐ'.,\n-éßÅжЩأبกขаの中国武汉会战灯塔カ한국①ﬁ£€\u3000𠀀々〇ｱ"
texts = st.text(st.sampled_from(SCRIPTS), max_size=60) | st.text(max_size=40)


@given(texts)
@example("0" * 17)
@example("so\xadft 1\u200b,5 a\u200d\u0301 a\u200db \u2603\u200d\u2603 1\u200d2 \U0001f3f3\ufe0f")
def test_equals_the_plain_definition(text: str) -> None:
    assert tokens(text) == [token for line in token_lines(text) for token in line]


@given(
    st.text(st.characters(max_codepoint=127), max_size=60) | st.text(st.sampled_from("aBC1_.,:-+<=# "))
)
def test_a_chinese_character_at_the_end_changes_nothing_before_it(text: str) -> None:
    assert tokens(f"word {text}中") == [*tokens(f"word {text}"), "中"]


@given(texts, texts)
def test_texts_on_two_lines_have_the_tokens_of_both(one: str, other: str) -> None:
    one, other = f"a word {one}", f"a word {other}"
    assert tokens(f"{one}\n{other}") == tokens(one) + tokens(other)


NAMES = [
    ["operator<", "operator<<", "operator<=", "operator<=>", "operator>", "operator"],
    ["C", "C++", "C#", "c", "F#"],
    ["-a", "-A", "-aA", "-B"],
    ["x == y", "x = y", "x <= y", "x y"],
    ["50%", "$50", "50", "#50"],
    ["*p", "&p", "p", "~p", "p|q", "p^q", "p\\q", "p@q"],
]


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
@pytest.mark.parametrize(
    "sentence",
    [
        "How to write {} in a program.",
        "{} comes first",
        "last is {}",
        "在程序里怎么写{}的说明",
        "选项 {}：说明",
    ],
)
def test_names_in_programs_tell_pages_apart(names: list[str], sentence: str) -> None:
    found = [sentence.format(name) for name in names]
    assert len({tuple(tokens(text)) for text in found}) == len(names)
    assert len({fingerprint(Page.from_text(text)).token_digest for text in found}) == len(names)


@given(st.text(st.sampled_from(SIGNS + " \n.-/!?·★—≥\u3000"), max_size=60))
def test_signs_alone_are_no_words(text: str) -> None:
    assert tokens(text) == []
    signs = [sign for sign in re.split(f"[^{re.escape(SIGNS)}★≥]+", text) if sign]
    assert tokens(f"{text} end") == [*signs, "end"]


@given(texts)
def test_jieba_and_rjieba_cut_alike(text: str) -> None:
    assert tokens(text) == tokens(text, segment=jieba_segmenter())


def test_rjieba_is_trusted_for_the_dictionary_that_is_installed() -> None:
    assert table_digest(*DICTIONARY) == RJIEBA_DICTIONARY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The QUICK fox's 2nd_try!", ["the", "quick", "fox", "s", "2nd_try"]),
        ("Crème brûlée", ["crème", "brûlée"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("武汉会战在1938年", ["武汉", "会战", "在", "1938", "年"]),
        ("使用Python语言", ["使用", "python", "语言"]),
        ("Москва, Россия", ["москва", "россия"]),
        ("서울 날씨", ["서울", "날씨"]),
        ("\u0000a\u0000b", ["a", "b"]),
        # a single letter of ASCII keeps its case, wherever it stands
        ("A cat, an APPLE: B", ["A", "cat", "an", "apple", "B"]),
        ("使用-A选项，Ａ或Ж É", ["使用", "A", "选项", "A", "或", "ж", "é"]),
        ("1.A.2 A.5", ["1", "A", "2", "A", "5"]),
        # signs of programs belong to their word, other punctuation parts words
        ("C++, C# & `a->b[i] = x<y>(z);`", ["c++", "c#", "&", "a", ">b", "i", "=", "x<y>", "z"]),
        ("operator<运算符", ["operator<", "运算符"]),
        ("カ=ナ ไทย=ไทย हिन्दी|में ا+ب", ["カ", "=", "ナ", "ไทย", "=", "ไทย", "हिन्दी|में", "ا+ب"]),
        ("Ｃ＋＋　10～20", ["c++", "10~20"]),
        # numbers are whole, dots at their ends are not theirs
        ("3.9.1, 10:30. 1,000.50; v2.x", ["3.9.1", "10:30", "1,000.50", "v2", "x"]),
        ("价格1.5元", ["价格", "1.5", "元"]),
        # vowel signs belong to their word, points that may be left out do not count
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("সূর্য தமிழ்", ["সূর্য", "தமிழ்"]),
        ("за\u0301мок", ["за\u0301мок"]),
        ("كِتَابٌ كـتـاب كتاب", ["كتاب", "كتاب", "كتاب"]),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        # where nothing parts words, runs of characters stand for them
        ("灯台へ行く", ["灯台", "台へ", "へ行", "行く"]),
        ("ไปทะเล", ["ไปท", "ปทะ", "ทะเ", "ะเล"]),
        ("ទៅ", ["ទៅ"]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_the_users_own_jieba_is_left_alone() -> None:
    import jieba

    before = tokens("克林顿灯塔路博物馆")
    jieba.add_word("灯塔路博物馆")
    assert tokens("克林顿灯塔路博物馆") == before
    assert tokens("克林顿灯塔路博物馆", segment=jieba_segmenter()) == before


@given(
    st.text(
        st.sampled_from("\u0301\u0316\u05b0\u0f73\uff9e\uff9f"),
        min_size=MOST_MARKS + 1,
        max_size=3 * MOST_MARKS,
    )
)
def test_marks_without_end_are_put_in_order_in_short_runs(marks: str) -> None:
    runs = re.findall(r"[^\w\s!-~]+", normalized(f"before a{marks} after"))
    assert max(map(len, runs)) <= 2 * MOST_MARKS  # U+0F73 is two marks
    assert tokens(f"before a{marks} after")[0] == "before"


@given(st.text(st.sampled_from("a\u0301\u0316"), max_size=MOST_MARKS))
def test_marks_with_an_end_stay_as_they_are(text: str) -> None:
    assert normalized(text) == normalize("NFKC", text).lower()
