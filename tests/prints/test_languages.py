"""A page in each of many languages, written for these tests: edits are found, other pages are not."""

from __future__ import annotations

from random import Random

import pytest

from dedup import Page, compare
from dedup.reading.tokens import tokens

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
        "費用は漁業組合の寄付でまかなわれた。灯台守は毎日夕方に百二十段の階段を上り、電球とレンズを調べる。"
        "夜に漁へ出る船からも光が見えるようになり、みんな安心している。",
        "町のパン屋は毎朝五時に店を開ける。職人はまず生地をこね、木の桶に入れて二時間ほど寝かせる。"
        "いちばん人気があるのはくるみパンとあんパンだ。週末は行列ができるので、店主は見習いを二人雇うことにした。"
        "雨の日は客が少なく、新しい作り方をためしては近所に配っている。",
    ),
    "th": (
        "ประภาคารเก่าบนแหลมเปิดไฟอีกครั้งในฤดูใบไม้ผลินี้ ชาวบ้านช่วยกันทาสีผนังและเปลี่ยนบันไดที่ขึ้นสนิม "
        "เงินทุนมาจากการบริจาคของสหกรณ์ประมง คนเฝ้าประภาคารเดินขึ้นบันไดหนึ่งร้อยยี่สิบขั้นทุกเย็นเพื่อตรวจหลอดไฟและเลนส์ "
        "เรือที่ออกหาปลาตอนกลางคืนมองเห็นแสงไฟจากที่ไกลทุกคนจึงสบายใจ",
        "ร้านขนมปังในเมืองเปิดตั้งแต่ตีห้าทุกวัน ช่างทำขนมนวดแป้งก่อนแล้วพักไว้ในถังไม้ประมาณสองชั่วโมง "
        "ขนมปังวอลนัทกับขนมไส้ถั่วแดงขายดีที่สุด วันหยุดมีคนต่อแถวยาวเจ้าของร้านจึงจ้างลูกมือสองคน "
        "วันที่ฝนตกลูกค้าน้อยพวกเขาก็ลองสูตรใหม่และแบ่งให้เพื่อนบ้านชิม",
    ),
    "ar": (
        "أضاءت المنارة القديمة عند الرأس من جديد هذا الربيع. طلى أهل القرية الجدران بأنفسهم واستبدلوا الدرج الصدئ. "
        "جاء المال من تبرعات تعاونية الصيادين. يصعد حارس المنارة كل مساء مئة وعشرين درجة ليفحص المصباح والعدسة. "
        "وصارت القوارب التي تخرج ليلا ترى الضوء من بعيد فاطمأن الجميع.",
        "يفتح المخبز في المدينة أبوابه كل صباح في الساعة الخامسة. يعجن الخباز العجين أولا ثم يتركه ساعتين في وعاء خشبي. "
        "أكثر ما يحبه الناس خبز الجوز ولفائف التمر. في نهاية الأسبوع يطول الصف فقرر صاحب المحل أن يشغل متدربين. "
        "وفي الأيام الماطرة يقل الزبائن فيجربون وصفات جديدة.",
    ),
    "ru": (
        "Старый маяк на мысе этой весной снова зажёг огонь. Жители деревни сами покрасили стены и заменили ржавую лестницу. "
        "Деньги собрал рыболовный кооператив. Смотритель каждый вечер поднимается на сто двадцать ступеней и проверяет лампу и линзу. "
        "Лодки, выходящие ночью в море, опять видят свет издалека, и все успокоились.",
        "Пекарня в городе открывается каждое утро в пять часов. Пекарь сначала месит тесто и оставляет его на два часа в деревянной кадке. "
        "Больше всего любят ореховый хлеб и булочки с маком. По выходным стоит очередь, и хозяин решил нанять двух учеников. "
        "В дождливые дни покупателей мало, и они пробуют новые рецепты.",
    ),
    "hi": (
        "अंतरीप का पुराना प्रकाशस्तंभ इस वसंत में फिर से जल उठा। गाँव के लोगों ने स्वयं दीवारें रंगीं और जंग लगी सीढ़ियाँ बदलीं। "
        "पैसा मछुआरों की सहकारी समिति के दान से आया। रखवाला हर शाम एक सौ बीस सीढ़ियाँ चढ़कर बत्ती और शीशे की जाँच करता है। "
        "रात में निकलने वाली नावों को दूर से रोशनी दिखती है और सब निश्चिंत हैं।",
        "शहर की बेकरी हर सुबह पाँच बजे खुलती है। कारीगर पहले आटा गूँथता है और उसे दो घंटे लकड़ी के बर्तन में रखता है। "
        "अखरोट की रोटी और खजूर के रोल सबसे अधिक पसंद किए जाते हैं। छुट्टी के दिन लंबी कतार लगती है इसलिए मालिक ने दो शिष्य रखे। "
        "बारिश के दिनों में ग्राहक कम होते हैं तब वे नई विधियाँ आज़माते हैं।",
    ),
}
PAGES["mixed"] = (
    PAGES["zh-hans"][0] + " The old lighthouse was lit again this spring. " + PAGES["ja"][0],
    PAGES["zh-hans"][1] + " The bakery opens at five every morning. " + PAGES["ja"][1],
)


def page(text: str) -> Page:
    return Page.from_html(f"<html><body><p>{text}</p></body></html>")


@pytest.mark.parametrize("language", PAGES)
def test_an_edit_is_found(language: str) -> None:
    text = PAGES[language][0]
    # The date of a visit at the end, and one sign in the middle.
    middle = len(text) // 2
    edited = f"{text[:middle]}7{text[middle + 1 :]} 2024-05-01"
    assert compare(page(text), page(edited)).is_duplicate


@pytest.mark.parametrize("language", PAGES)
def test_another_page_is_none(language: str) -> None:
    one, other = map(page, PAGES[language])
    found = compare(one, other)
    assert not found.is_duplicate
    assert found.similarity < 0.1


@pytest.mark.parametrize("language", PAGES)
def test_words_are_neither_letters_nor_sentences(language: str) -> None:
    words = tokens(PAGES[language][0])
    mean = sum(map(len, words)) / len(words)
    assert 1.2 < mean < 8
    assert max(map(len, words)) < 20


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        ("كتاب جديد على الرف", "كِتَابٌ جَدِيدٌ عَلَى الرَّفِّ"),
        ("كتاب جديد على الرف", "كـتاب جديد علـى الرف"),
        ("שלום לכל הדגים", "שָׁלוֹם לְכָל הַדָּגִים"),
    ],
)
def test_points_make_no_other_page(plain: str, written: str) -> None:
    assert tokens(plain) == tokens(written)


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        ("Donaudampfschiff fährt", "Do\xadnau\xaddampf\u200bschiff f\u2060ä\u200dhrt\ufeff"),
        ("کتاب های فارسی", "كتاب های فارسي"),
        ("İstanbul Işık Straße", "İSTANBUL IŞIK STRASSE"),
        ("می خواهم کتابخانه ها", "می خواهم کتاب\u200cخانه ها"),
    ],
)
def test_how_a_word_is_typed_makes_no_other_page(plain: str, written: str) -> None:
    assert tokens(plain) == tokens(written)


@pytest.mark.parametrize("wrap", ["\n", "<br>", "<br>\n"])
@pytest.mark.parametrize("language", ["ja", "zh-hans"])
def test_where_a_line_ends_makes_no_other_page(language: str, wrap: str) -> None:
    text = PAGES[language][0]
    wrapped = wrap.join(text[at : at + 12] for at in range(0, len(text), 12))
    assert compare(page(text), page(wrapped)).similarity == 1


@pytest.mark.parametrize(
    "script",
    [range(0xA984, 0xA9B3), range(0xA000, 0xA48D), range(0x1980, 0x19AC), range(0x1B13, 0x1B34)],
    ids=["Javanese", "Yi", "New Tai Lue", "Balinese"],
)
def test_one_letter_more_in_front_makes_no_other_page_in_a_script_without_spaces(script: range) -> None:
    text = "".join(map(chr, Random(1).choices(script, k=300)))
    assert compare(page(text), page(text[7] + text)).is_duplicate


@pytest.mark.parametrize("language", PAGES)
def test_an_article_is_told_from_the_navigation_around_it(language: str) -> None:
    navigation = "<nav>" + "<a>menu</a> " * 120 + "</nav>"
    for text in PAGES[language]:
        assert "menu" not in Page.from_html(f"{navigation}<article>{text}</article>").text
