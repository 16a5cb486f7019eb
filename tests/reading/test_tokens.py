import marshal
import re
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from random import Random
from statistics import median_high
from unicodedata import category, normalize

import mmh3
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedup import Page, compare, fingerprint
from dedup.model.hashes import hashes_of
from dedup.native._pages import MOST_CHARACTERS, MOST_MARKS
from dedup.reading import tokens as module
from dedup.reading.tokens import jieba_segmenter, normalized, tokens
from tests.oracle.prints import token_lines
from tests.support.crawling import python
from tests.support.pages import text

SCRIPTS = "aZ9_ 12.,:<=+#|CCB-\\~ΣΑ’＋\u0338กำี่မြန်မာខकि्ষِ้שָܐ'.,\n-éßÅжЩأبกขаの中国武汉会战灯塔カ한국①ﬁ£€\u3000𠀀々〇ｱ"
texts = st.text(st.sampled_from(SCRIPTS), max_size=60) | st.text(max_size=40)


@given(texts)
@example("0" * 17)
@example("so\xadft 1\u200b,5 a\u200d\u0301 a\u200db \u2603\u200d\u2603 1\u200d2 \U0001f3f3\ufe0f")
def test_equals_the_plain_definition(said: str) -> None:
    found = tokens(said)
    assert found == [token for line in token_lines(said) for token in line]
    assert max(map(len, found), default=0) <= MOST_CHARACTERS
    assert found == tokens(said, segment=jieba_segmenter()), "rjieba and jieba cut alike"


@given(
    st.text(st.characters(max_codepoint=127), max_size=60) | st.text(st.sampled_from("aBC1_.,:-+<=# "))
)
def test_a_chinese_character_at_the_end_changes_nothing_before_it(said: str) -> None:
    assert tokens(f"word {said}中") == [*tokens(f"word {said}"), "中"]


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
        *("How to write {} in a program.", "{} comes first", "last is {}"),
        *("在程序里怎么写{}的说明", "选项 {}：说明"),
    ],
)
def test_names_in_programs_tell_pages_apart(names: list[str], sentence: str) -> None:
    found = [sentence.format(name) for name in names]
    assert len({tuple(tokens(said)) for said in found}) == len(names)
    assert len({fingerprint(Page.from_text(said)).token_digest for said in found}) == len(names)


@given(st.text(st.sampled_from(module.SIGNS + " \n.-/!?·★—≥\u3000"), max_size=60))
def test_signs_alone_are_no_words(said: str) -> None:
    assert tokens(said) == []
    signs = [sign for sign in re.split(f"[^{re.escape(module.SIGNS)}★≥]+", said) if sign]
    assert tokens(f"{said} end") == [*signs, "end"]


VISIBLE = st.characters(exclude_categories=["P", "Z", "Cc", "Cf", "Cs", "M"])


@given(VISIBLE)
@settings(max_examples=500)
def test_every_sign_is_in_a_token(sign: str) -> None:
    if sign not in "`\u0640":  # a quotation mark of programs, and the tatweel, which is left out
        assert tokens(f"a {sign} b") != ["a", "b"]


def test_what_parts_words_is_no_sign() -> None:
    parting = re.findall(f"[{module.PARTING}]", "".join(map(chr, range(0x80, 0x110000))))
    assert {category(sign)[0] for sign in parting} == {"P", "Z", "C", "M"}
    assert not [sign for sign in parting if category(sign) in ("Co", "Mc")]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", []),
        ("The QUICK fox's 2nd_try!", ["the", "quick", "fox", "s", "2nd_try"]),
        ("Crème brûlée ＡＢＣ１２３", ["crème", "brûlée", "abc123"]),
        ("武汉会战在1938年", ["武汉", "会战", "在", "1938", "年"]),
        ("Москва, 서울 날씨", ["москва", "서울", "날씨"]),
        # a single letter of ASCII keeps its case, wherever it stands
        ("A cat, an APPLE: B", ["A", "cat", "an", "apple", "B"]),
        ("使用-A选项，Ａ或Ж É", ["使用", "A", "选项", "A", "或", "ж", "é"]),
        ("1.A.2 A.5", ["1", "A", "2", "A", "5"]),
        # signs of programs belong to their word, other punctuation parts words
        ("C++, C# & `a->b[i] = x<y>(z);`", ["c++", "c#", "&", "a", ">b", "i", "=", "x<y>", "z"]),
        ("カ=ナ ไทย=ไทย हिन्दी|में ا+ب", ["カ", "=", "ナ", "ไทย", "=", "ไทย", "हिन्दी|में", "ا+ب"]),
        ("Ｃ＋＋　10～20", ["c++", "10~20"]),
        # numbers are whole, dots at their ends are not theirs; nor are hyphens in dates and ranges
        ("3.9.1, 10:30. 1,000.50; v2.x", ["3.9.1", "10:30", "1,000.50", "v2", "x"]),
        ("TT-1607-4B2, 1984-5, 12-3", ["tt", "1607-4b2", "1984", "5", "12", "3"]),
        # vowel signs belong to their word, points that may be left out do not count
        ("हिन्दी में সূর্য தமிழ்", ["हिन्दी", "में", "সূর্য", "தமிழ்"]),
        ("كِتَابٌ كـتـاب كتاب", ["كتاب", "كتاب", "كتاب"]),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        # where nothing parts words, runs of characters stand for them
        ("灯台へ行く", ["灯台", "台へ", "へ行", "行く"]),
        ("ไปทะเล", ["ไปท", "ปทะ", "ทะเ", "ะเล"]),
    ],
)
def test_words_of_a_text(said: str, expected: list[str]) -> None:
    assert tokens(said) == expected


def test_the_users_own_jieba_is_left_alone() -> None:
    import jieba

    before = tokens("克林顿灯塔路博物馆")
    jieba.add_word("灯塔路博物馆")
    assert tokens("克林顿灯塔路博物馆") == before
    assert tokens("克林顿灯塔路博物馆", segment=jieba_segmenter()) == before


MARKS = st.sampled_from("\u0301\u0316\u05b0\u0f73\uff9e\uff9f")


@given(st.text(MARKS, min_size=MOST_MARKS + 1, max_size=3 * MOST_MARKS))
def test_marks_without_end_are_put_in_order_in_short_runs(marks: str) -> None:
    runs = re.findall(r"[^\w\s!-~]+", normalized(f"before a{marks} after"))
    assert max(map(len, runs)) <= 2 * MOST_MARKS  # U+0F73 is two marks
    assert tokens(f"before a{marks} after")[0] == "before"


@given(st.text(st.sampled_from("a\u0301\u0316"), max_size=MOST_MARKS))
def test_marks_with_an_end_stay_as_they_are(said: str) -> None:
    assert normalized(said) == normalize("NFKC", said).lower()


# Rows of data whose parts touch are more than a word: what is lost with them is not one word a row
PARTS: dict[str, Callable[[Random], str]] = {
    "numbers": lambda rng: f"{rng.uniform(0, 99):.1f}",
    "times": lambda rng: f"{rng.randint(5, 23):02}:{rng.randint(0, 59):02}",
    "words": lambda rng: "".join(rng.choices("abdeiklmnorst", k=7)),
    "letters": lambda rng: rng.choice("ACDEFGHIKLMNPQRSTVWY"),
}


@pytest.mark.parametrize(
    ("number", "parts", "between", "of"),
    [
        (10, 20, ",", "numbers"),
        (1, 240, ",", "numbers"),
        (10, 15, ",", "times"),
        *((10, 12, sign, "words") for sign in ("|", "</span><span>")),
        (5, 30, "→", "words"),
        *((1, 120, sign, "words") for sign in ("+", "#", "</a><a href=/t>")),
        (12, 60, "", "letters"),
    ],
)
def test_pages_of_other_data_are_no_copies(number: int, parts: int, between: str, of: str) -> None:
    def page_of(rng: Random) -> Page:
        rows = (between.join(PARTS[of](rng) for _ in range(parts)) for _ in range(number))
        data = "\n".join(rows)
        return Page.from_html(f"<main><p>{text(1, 300)}</p><pre><a>{data}</a></pre></main>")

    assert not compare(page_of(Random(1)), page_of(Random(2))).is_duplicate


# A page in each of many languages, written for these tests: edits are found, other pages are not

# Of each language two pages on different things, and the sign by which the first is edited.
PAGES = {
    "zh-hans": (
        "渔村的老灯塔今年春天重新点亮。村民自己动手修缮了塔身，粉刷了外墙，更换了生锈的楼梯。资金来自渔业合作社的捐款。"
        "守塔人每天傍晚登上一百二十级台阶，检查灯泡和透镜。夜里出海的渔船又能看见远处的光，大家都放心多了。",
        "城里的面包店每天早上五点开门。师傅先揉面，再把面团放进木盆里发酵两个小时。最受欢迎的是核桃面包和红豆卷。"
        "周末常有人排队，店主于是决定雇两名学徒。下雨的日子客人少，他们就研究新的配方，偶尔送给邻居品尝。",
    ),
    "ja": (
        "岬の古い灯台は、この春ふたたび明かりをともした。村の人たちが自分たちで壁を塗り直し、さびた階段を取り替えた。"
        "費用は漁業組合の寄付でまかなわれた。灯台守は毎日夕方に百二十段の階段を上り、電球とレンズを調べる。",
        "町のパン屋は毎朝五時に店を開ける。職人はまず生地をこね、木の桶に入れて二時間ほど寝かせる。"
        "いちばん人気があるのはくるみパンとあんパンだ。週末は行列ができるので、店主は見習いを二人雇うことにした。",
    ),
    "th": (
        "ประภาคารเก่าบนแหลมเปิดไฟอีกครั้งในฤดูใบไม้ผลินี้ ชาวบ้านช่วยกันทาสีผนังและเปลี่ยนบันไดที่ขึ้นสนิม "
        "เงินทุนมาจากการบริจาคของสหกรณ์ประมง คนเฝ้าประภาคารเดินขึ้นบันไดหนึ่งร้อยยี่สิบขั้นทุกเย็นเพื่อตรวจหลอดไฟและเลนส์",
        "ร้านขนมปังในเมืองเปิดตั้งแต่ตีห้าทุกวัน ช่างทำขนมนวดแป้งก่อนแล้วพักไว้ในถังไม้ประมาณสองชั่วโมง "
        "ขนมปังวอลนัทกับขนมไส้ถั่วแดงขายดีที่สุด วันหยุดมีคนต่อแถวยาวเจ้าของร้านจึงจ้างลูกมือสองคน",
    ),
    "ar": (
        "أضاءت المنارة القديمة عند الرأس من جديد هذا الربيع. طلى أهل القرية الجدران بأنفسهم واستبدلوا الدرج الصدئ. "
        "جاء المال من تبرعات تعاونية الصيادين. يصعد حارس المنارة كل مساء مئة وعشرين درجة ليفحص المصباح والعدسة.",
        "يفتح المخبز في المدينة أبوابه كل صباح في الساعة الخامسة. يعجن الخباز العجين أولا ثم يتركه ساعتين في وعاء خشبي. "
        "أكثر ما يحبه الناس خبز الجوز ولفائف التمر. في نهاية الأسبوع يطول الصف فقرر صاحب المحل أن يشغل متدربين.",
    ),
    "ru": (
        "Старый маяк на мысе этой весной снова зажёг огонь. Жители деревни сами покрасили стены и заменили ржавую лестницу. "
        "Деньги собрал рыболовный кооператив. Смотритель каждый вечер поднимается на сто двадцать ступеней и проверяет лампу и линзу.",
        "Пекарня в городе открывается каждое утро в пять часов. Пекарь сначала месит тесто и оставляет его на два часа в деревянной кадке. "
        "Больше всего любят ореховый хлеб и булочки с маком. По выходным стоит очередь, и хозяин решил нанять двух учеников.",
    ),
    "hi": (
        "अंतरीप का पुराना प्रकाशस्तंभ इस वसंत में फिर से जल उठा। गाँव के लोगों ने स्वयं दीवारें रंगीं और जंग लगी सीढ़ियाँ बदलीं। "
        "पैसा मछुआरों की सहकारी समिति के दान से आया। रखवाला हर शाम एक सौ बीस सीढ़ियाँ चढ़कर बत्ती और शीशे की जाँच करता है।",
        "शहर की बेकरी हर सुबह पाँच बजे खुलती है। कारीगर पहले आटा गूँथता है और उसे दो घंटे लकड़ी के बर्तन में रखता है। "
        "अखरोट की रोटी और खजूर के रोल सबसे अधिक पसंद किए जाते हैं। छुट्टी के दिन लंबी कतार लगती है इसलिए मालिक ने दो शिष्य रखे।",
    ),
}
PAGES["mixed"] = (
    PAGES["zh-hans"][0] + " The old lighthouse was lit again this spring. " + PAGES["ja"][0],
    PAGES["zh-hans"][1] + " The bakery opens at five every morning. " + PAGES["ja"][1],
)


def page(said: str) -> Page:
    return Page.from_html(f"<html><body><p>{said}</p></body></html>")


@pytest.mark.parametrize("language", PAGES)
def test_an_edit_is_found_and_another_page_is_none(language: str) -> None:
    one, other = PAGES[language]
    # The date of a visit at the end, and one sign in the middle.
    middle = len(one) // 2
    assert compare(page(one), page(f"{one[:middle]}7{one[middle + 1 :]} 2024-05-01")).is_duplicate
    found = compare(page(one), page(other))
    assert not found.is_duplicate
    assert found.similarity < 0.1


@pytest.mark.parametrize("language", PAGES)
def test_words_are_neither_letters_nor_sentences_and_tell_articles_from_menus(language: str) -> None:
    words = tokens(PAGES[language][0])
    assert 1.2 < sum(map(len, words)) / len(words) < 8
    assert max(map(len, words)) < 20
    for said in PAGES[language]:
        html = f"<nav>{'<a>menu</a> ' * 120}</nav><article>{said}</article>"
        assert "menu" not in Page.from_html(html).text


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        # Points that may be left out
        ("كتاب جديد على الرف", "كِتَابٌ جَدِيدٌ عَلَى الرَّفِّ"),
        ("كتاب جديد على الرف", "كـتاب جديد علـى الرف"),
        ("שלום לכל הדגים", "שָׁלוֹם לְכָל הַדָּגִים"),
        # How a word is typed
        ("Donaudampfschiff fährt", "Do\xadnau\xaddampf\u200bschiff f\u2060ä\u200dhrt\ufeff"),
        ("کتاب های فارسی", "كتاب های فارسي"),
        ("İstanbul Işık Straße", "İSTANBUL IŞIK STRASSE"),
        ("می خواهم کتابخانه ها", "می خواهم کتاب\u200cخانه ها"),
    ],
)
def test_points_and_how_a_word_is_typed_make_no_other_page(plain: str, written: str) -> None:
    assert tokens(plain) == tokens(written)


@pytest.mark.parametrize("wrap", ["\n", "<br>", "<br>\n"])
@pytest.mark.parametrize("language", ["ja", "zh-hans"])
def test_where_a_line_ends_makes_no_other_page(language: str, wrap: str) -> None:
    said = PAGES[language][0]
    wrapped = wrap.join(said[at : at + 12] for at in range(0, len(said), 12))
    assert compare(page(said), page(wrapped)).similarity == 1


@pytest.mark.parametrize(
    "script",
    [range(0xA984, 0xA9B3), range(0xA000, 0xA48D), range(0x1980, 0x19AC), range(0x1B13, 0x1B34)],
    ids=["Javanese", "Yi", "New Tai Lue", "Balinese"],
)
def test_one_letter_more_in_front_makes_no_other_page_in_a_script_without_spaces(script: range) -> None:
    said = "".join(map(chr, Random(1).choices(script, k=300)))
    assert compare(page(said), page(said[7] + said)).is_duplicate


CODE = """
import sys
from dedup import Detector, MemoryIndex, Page
Detector(MemoryIndex()).check(Page.from_text({!r}))
print([name for name in ('jieba', 'rjieba', 'pkg_resources') if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("text", "loads"), [("The tide comes in twice a day – as everywhere", False), ("灯塔路博物馆", True)]
)
def test_a_segmenter_is_loaded_with_the_first_han(text: str, *, loads: bool) -> None:
    loaded = python("-c", CODE.format(text)).stdout.strip()
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
    jieba_segmenter.cache_clear()
    assert list(jieba_segmenter()("灯塔路博物馆")) == ["灯塔", "路", "博物馆"]
    assert (tmp_path / "jieba.cache").read_bytes() == planted


def test_the_digests_are_those_of_the_files_of_jieba_for_which_rjieba_is_trusted() -> None:
    assert module.table_digest(*module.DICTIONARY) == module.RJIEBA_DICTIONARY
    for path in (module.DICTIONARY, module.FREQUENCIES):
        table = files("jieba").joinpath(*path).read_bytes()
        assert module.table_digest(*path) == mmh3.hash_bytes(table).hex()


def test_frequencies_are_those_of_the_lines_of_jieba_and_their_median() -> None:
    lines = files("jieba").joinpath("analyse", "idf.txt").read_text("utf-8").splitlines()
    values = {word: float(value) for word, _, value in (line.rpartition(" ") for line in lines)}
    assert len(values) > 200_000
    words, wanted = [*values, "灯塔路博物馆"], [*values.values(), median_high(values.values())]
    assert np.array_equal(module.han_frequencies(hashes_of(words)), wanted)
