"""Words, templates, sentences, frames and pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from random import Random

Lists = Mapping[str, Sequence[str]]


def listed(text: str) -> list[str]:
    """Return the words of *text*, or what stands between its strokes.

    >>> listed("one two"), listed("one|two three")
    (['one', 'two'], ['one', 'two three'])
    """
    return text.split("|" if "|" in text else None)


_COMMON = listed(
    "the of and to a in is that for it as was with be by on not he his but at are this have from or had an "
    "they which one you were all her she there would their we him been has when who will no more if out so"
)
_SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstv", "aeiou")]
_CHINESE_COMMON = listed(
    "的 了 在 是 和 我们 可以 一个 这个 没有 因为 所以 但是 已经 进行 通过 以及 对于 他们 需要"
)
_SIGNS = (
    "山水风云天地日月星光花草树木鱼鸟虫石金火土田河海江湖春夏秋冬东南西北高低长短大小新旧红黄蓝白黑青手足心目口耳"
    "门窗车船桥路城市村镇书画音乐舞歌学校医药农工商业文化历史科技信息经济社会教育体育旅游环境"
)
_MENU = listed(
    "Home|About us|Contact|News|Archive|Search|Help|Services|Departments|Meetings|Documents|Jobs|Press|"
    "Report a problem|Pay a bill|Find a form|Opening hours|How to find us|Gallery|Calendar|Newsletter|"
    "Questions and answers|Members|Log in|Register|Site map|Terms of use|Privacy policy|Accessibility|"
    "Downloads|Partners|Education|Library|Parks and recreation|Public safety|Planning and zoning|Sports|"
    "Water and sewer|Culture|Business|Visitors|Residents|Projects|Statistics|Feedback|Your account|Imprint"
)
_INTRO = listed(
    "Welcome to the pages of {site}, which are looked after by volunteers.|"
    "Choose an entry from the menu above or use the search to find what you are looking for.|"
    "If something is missing or wrong please write to the office and we will correct it soon.|"
    "The office is open from Monday to Friday between eight and five and closed on public holidays.|"
    "All information is given without warranty and may change at any time.|"
    "This site is maintained by the office of {site} and hosted in the town hall on Main Street."
)
_CHINESE_MENU = listed(
    "首页 关于我们 新闻中心 通知公告 组织机构 规章制度 办事指南 资料下载 人才招聘 联系我们 网站地图 在线留言 "
    "产品中心 服务支持 合作伙伴 常见问题 会员登录 免费注册 我的订单 友情链接 图片新闻 视频中心 政策法规 工作动态 "
    "党群工作 学术交流 教学科研 招生就业 校园文化 财务公开 民意调查 领导信箱 便民服务 天气预报 交通地图 历史沿革"
)
_CHINESE_INTRO = listed(
    "欢迎访问{site}网站，本站由办公室负责维护。|请从上面的栏目中选择您需要的内容，或者使用搜索功能查找。|"
    "如果发现错误或遗漏，请与我们联系，我们会尽快更正。|办公时间为星期一至星期五上午八点到下午五点，节假日休息。|"
    "未经许可不得转载本站内容，所有信息仅供参考，如有变动恕不另行通知。"
)
_BLANK = re.compile(r"\{(?:(\d+)\.\.(\d+)|(\w+))\}")


def filled(template: str, rng: Random, lists: Lists) -> str:
    """Return *template* with a number for each {2..99} or {002..099}, and one of a list for its {name}.

    {word} and {Word} are words that were never written.

    >>> filled("{7..7}, {007..007} of {made}", Random(1), {"made": ["the {of}"], "of": ["oak"]})
    '7, 007 of the oak'
    """

    def drawn(found: re.Match[str]) -> str:
        low, high, name = found.groups()
        if low:
            return str(rng.randint(int(low), int(high))).zfill(len(low))
        if name.lower() == "word":
            return word(rng).capitalize() if name == "Word" else word(rng)
        return rng.choice(lists[name])

    while _BLANK.search(template):
        template = _BLANK.sub(drawn, template)
    return template


def in_lines(template: str, rng: Random, lists: Lists) -> str:
    """Return the HTML of *template*: each part between strokes on its line, one that begins with # larger."""
    lines = [filled(line, rng, lists) for line in template.split(" | ") if line]
    return "\n".join(
        f"<h1>{line[2:]}</h1>" if line.startswith("# ") else f"<p>{line}</p>" for line in lines
    )


def word(rng: Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.choice((2, 2, 3)))) + rng.choice(
        ("", "", "n", "s", "r")
    )


class Language:
    """Sentences of words that follow Zipf's law, one in three of them from the vocabulary of a subject."""

    def __init__(self, rng: Random, *, chinese: bool = False, words: int = 2_000) -> None:
        self._rng = rng
        self._chinese = chinese
        self._words = [*(_CHINESE_COMMON if chinese else _COMMON), *self.vocabulary(words)]
        self._shares = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self._subject_shares = list(accumulate(1 / rank for rank in range(4, 64)))

    def vocabulary(self, count: int = 60) -> list[str]:
        """Return so many different words, the frequent ones first."""
        found: dict[str, None] = {}
        while len(found) < count:
            new = "".join(self._rng.sample(_SIGNS, 2)) if self._chinese else word(self._rng)
            found[new] = None
        return list(found)

    def words(self, count: int, subject: Sequence[str]) -> list[str]:
        """Return so many words in a row."""
        common = self._rng.choices(self._words, cum_weights=self._shares, k=count)
        own = self._rng.choices(subject, cum_weights=self._subject_shares, k=count)
        return [
            mine if self._rng.random() < 1 / 3 else other
            for mine, other in zip(own, common, strict=True)
        ]

    def joined(self, words: Sequence[str]) -> str:
        return "".join(words) if self._chinese else " ".join(words).capitalize()

    def sentence(self, subject: Sequence[str], count: int = 0) -> str:
        """Return a sentence of *count* words, else of 6 to 22."""
        words = self.words(count or self._rng.randint(6, 22), subject)
        return self.joined(words) + ("。" if self._chinese else ".")

    def text(self, subject: Sequence[str], words: int) -> tuple[tuple[str, ...], ...]:
        """Return paragraphs of sentences, of about so many *words*."""
        paragraphs = []
        while words > 0:
            counts = [self._rng.randint(6, 22) for _ in range(self._rng.randint(2, 5))]
            paragraphs.append(tuple(self.sentence(subject, count) for count in counts))
            words -= sum(counts)
        return tuple(paragraphs)


@dataclass(frozen=True, slots=True)
class Frame:
    """The name of a site, and what it puts around its pages, in plain elements."""

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
        else f"{word(rng)} Online".capitalize()
    )
    entries, texts = rng.sample(menu, len(menu)), [text.format(site=name) for text in intro]
    items, below = list[str](), list[str]()
    # One sentence after every eight entries of the menu, until there are enough words; two signs are one.
    while (
        entries
        and sum(len(text) / 2 if chinese else len(text.split()) for text in [*items, *below]) < words
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
