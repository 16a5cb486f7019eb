"""Words, sentences and frames of which pages are made up, and the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from random import Random


def listed(text: str) -> list[str]:
    """Return the words of *text*, or what stands between its strokes.

    >>> listed("one two"), listed("one|two three")
    (['one', 'two'], ['one', 'two three'])
    """
    return text.split("|" if "|" in text else None)


_COMMON = listed(
    "the of and to a in is that for it as was with be by on not he his but at are this have from or had "
    "an they which one you were all her she there would their we him been has when who will no more if "
    "out so"
)
_SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstv", "aeiou")]
_MENU = listed(
    "Home|About us|Contact|News|Archive|Search|Help|Services|Departments|Meetings|Documents|"
    "Report a problem|Pay a bill|Find a form|Opening hours|How to find us|Jobs|Press|Gallery|Calendar|"
    "Newsletter|Questions and answers|Members|Log in|Register|Site map|Terms of use|Privacy policy|"
    "Accessibility|Downloads|Partners|Education|Library|Parks and recreation|Public safety|"
    "Planning and zoning|Water and sewer|Sports|Culture|Business|Visitors|Residents|Projects|Statistics|"
    "Feedback|Your account|Imprint|Subscribe|Shop|Support us"
)
_INTRO = (
    "Welcome to the pages of {site}, which are looked after by volunteers.",
    "Choose an entry from the menu above or use the search to find what you are looking for.",
    "If something is missing or wrong please write to the office and we will correct it soon.",
    "The office is open from Monday to Friday between eight and five and closed on public holidays.",
    "All information is given without warranty and may change at any time.",
    "This site is maintained by the office of {site} and hosted in the town hall on Main Street.",
    "Follow us on social media or sign up for the letter that we send every other month.",
)
_CHINESE_MENU = listed(
    "首页 关于我们 新闻中心 通知公告 组织机构 规章制度 办事指南 资料下载 人才招聘 联系我们 网站地图 在线留言 "
    "产品中心 服务支持 合作伙伴 常见问题 会员登录 免费注册 我的订单 友情链接 图片新闻 视频中心 政策法规 "
    "工作动态 党群工作 学术交流 教学科研 招生就业 校园文化 财务公开 民意调查 领导信箱 便民服务 天气预报 "
    "交通地图 历史沿革"
)
_CHINESE_INTRO = (
    "欢迎访问{site}网站，本站由办公室负责维护。",
    "请从上面的栏目中选择您需要的内容，或者使用搜索功能查找。",
    "如果发现错误或遗漏，请与我们联系，我们会尽快更正。",
    "办公时间为星期一至星期五上午八点到下午五点，节假日休息。",
    "未经许可不得转载本站内容，所有信息仅供参考，如有变动恕不另行通知。",
)


@dataclass(frozen=True, slots=True)
class Load:
    """One answer of a server: *truth* is the number of what it says, *turn* which of its addresses this is."""

    url: str
    html: str
    truth: int
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """What a site puts around its pages, in plain elements, and its name."""

    site: str
    head: str
    foot: str

    def page(self, body: str, title: str = "") -> str:
        """Return the whole page; without a *title* that of all."""
        return document((title and f"{title} - {self.site}") or self.site, self.head + body + self.foot)


def document(title: str, body: str) -> str:
    """Return a page; with an empty *title* it has none."""
    titled = f"<title>{title}</title>" if title else ""
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8">{titled}</head><body>\n{body}\n</body></html>'
    )


def frame(rng: Random, words: int, *, chinese: bool = False) -> Frame:
    """Return a frame of about so many *words*, which no crawl has seen yet."""
    menu, intro = (_CHINESE_MENU, _CHINESE_INTRO) if chinese else (_MENU, _INTRO)
    name = (
        rng.choice(("东海", "南山", "西湖", "北原")) + "信息网"
        if chinese
        else f"{name_word(rng)} Online"
    )
    # One sentence after every eight entries of the menu, until there are enough words.
    entries, texts = rng.sample(menu, len(menu)), [text.format(site=name) for text in intro]
    items, below = list[str](), list[str]()
    while (
        entries and _size("".join([*items, *below]) if chinese else " ".join([*items, *below])) < words
    ):
        items.append(entries.pop())
        if texts and len(items) % 8 == 0:
            below.append(texts.pop(0))
    links = [f'<a href="/{number}">{item}</a>' for number, item in enumerate(items)]
    cut, half = len(links) * 2 // 3, (len(below) + 1) // 2
    return Frame(
        name,
        f"<div>{name} {' '.join(links[:cut])}</div>\n<div>{' '.join(below[:half])}</div>\n<div>\n",
        f"\n</div>\n<div>{' '.join([*below[half:], *links[cut:]])}</div>",
    )


def _size(text: str) -> int:
    """Return how many words *text* has; two Chinese signs are one."""
    return len(text.split()) if text.isascii() else len(text) // 2


def word(rng: Random) -> str:
    """Return a word that was never written."""
    return "".join(rng.choices(_SYLLABLES, k=rng.choice((2, 2, 3)))) + rng.choice(
        ("", "", "n", "s", "r")
    )


def name_word(rng: Random) -> str:
    return word(rng).capitalize()


def distinct_words(rng: Random, count: int) -> list[str]:
    """Return so many different words."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[word(rng)] = None
    return list(found)


class Language:
    """Sentences of words that follow Zipf's law, one in three of them from the vocabulary of a subject."""

    def __init__(self, rng: Random, words: int = 4_000) -> None:
        self._rng = rng
        self._words = _COMMON + distinct_words(rng, words)
        self._shares = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self._subject_shares = list(accumulate(1 / rank for rank in range(4, 64)))

    def subject(self) -> list[str]:
        """Return the words of a subject, the frequent ones first."""
        return distinct_words(self._rng, 60)

    def words(self, count: int, subject: Sequence[str]) -> list[str]:
        """Return so many words in a row."""
        rng = self._rng
        common = rng.choices(self._words, cum_weights=self._shares, k=count)
        own = rng.choices(subject, cum_weights=self._subject_shares, k=count)
        return [mine if rng.random() < 0.33 else other for mine, other in zip(own, common, strict=True)]

    def sentence(self, subject: Sequence[str], count: int = 0) -> str:
        """Return a sentence of *count* words, else of 6 to 22."""
        return " ".join(self.words(count or self._rng.randint(6, 22), subject)).capitalize() + "."

    def text(self, subject: Sequence[str], words: int) -> list[list[str]]:
        """Return paragraphs of sentences, of about so many *words*."""
        paragraphs: list[list[str]] = []
        while words > 0:
            paragraphs.append([self.sentence(subject) for _ in range(self._rng.randint(2, 5))])
            words -= sum(len(sentence.split()) for sentence in paragraphs[-1])
        return paragraphs


def paragraphs_of(text: Sequence[Sequence[str]]) -> str:
    """Return the HTML of a text."""
    return "\n".join(f"<p>{' '.join(sentences)}</p>" for sentences in text)
