"""Made-up sites whose truth is known: articles at three addresses each, and records of many kinds.

Each answer has noise, or counters, of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from benchmarks.reloads.writing import Language, document, filled, frame, in_lines, listed

HOST = "http://made.example"
URLS = (f"{HOST}/{{n}}", f"{HOST}/{{n}}?from=feed", f"{HOST}/old/{{n}}.html")
# Words of the frame of a site, links beside an article, its fewest and most words.
FRAME, LINKS, FEWEST, MOST = 150, 5, 150, 600
FRAME_OF_RECORDS = 80
COPIES = 0.2

# What one answer shows below the headline, and below the text.
NOISE = {
    "none": ("", ""),
    "views": ("Views: {20..9000}", ""),
    "generated": ("", "{12..90} queries in 0.{020..900} seconds"),
    "visitor": ("", "{3..90} users online: {member}, {member}, {member} and {2..60} guests"),
    "users online": ("", "{3..90} users online"),
    "likes": ("{2..400} people like this", ""),
    "clock": ("", "The time is now {00..23}:{00..59}:{00..59}"),
    "related": ("", "# Related posts | {related}"),
    "advert": ("", "{advert}"),
    "quotation": ("", "{quotation} - {member}"),
    "all six": (
        "Views: {20..9000} | {2..400} people like this",
        "{quotation} - {member} | # Related posts | {related} | The time is now {00..23}:{00..59}:{00..59} | "
        "{3..90} users online | {12..90} queries in 0.{020..900} seconds",
    ),
    "1900 to 2099": ("Views: {1900..2099}", ""),
    "Chinese": ("", "页面生成时间 0.{0100..0900} 秒 {2019..2024}年{1..12}月{1..28}日"),
    "Chinese views": ("浏览次数：{20..9000}", ""),
    "Chinese poem": (
        "",
        "现在是 {00..23}:{00..59}，{3..60} 人在线 | "
        "每日一诗：《{verse}》 作者：{surname}{given}（{20..90}－{20..90}） {verse}，{verse}。{verse}，{verse}。",
    ),
}
# As programs write it: above the text, below it.  {links} are titles of other articles, in a list.
MARKED = {
    "marked: views": (
        "<div class='meta'>By Staff <span class='views'>{20..9000} views</span></div>",
        "",
    ),
    "marked: table": ("<table><tr><th>Visits</th><td>{20..9000}</td></tr></table>", ""),
    "marked: related": ("", "<div class='more'><h3>You may also like</h3><ul>{links}</ul></div>"),
    "marked: advert": ("", "<div class='promo'><p>{advert}</p></div>"),
    "marked: quotation": ("", "<blockquote class='quote'>{quotation}</blockquote>"),
    "marked: online": (
        "",
        "<div id='online'><h4>Online</h4><ul><li>{member}</li><li>{member}</li></ul></div>",
    ),
    "marked: byline": ("<p>By Fred Ferro, 8 min read, {20..9000} reading now</p>", ""),
    "marked: token": ("", "<p>Your session: {1000..9999}-{1000..9999}</p>"),
    "marked: all six": (
        "<p class='meta'>Views: {20..9000}</p><p class='likes'>{2..400} people like this</p>",
        "<blockquote class='q'>{quotation} - {member}</blockquote><h3>Related</h3><ul>{links}</ul>"
        "<p id='clock'>It is {00..23}:{00..59}:{00..59}</p><p>{12..90} queries in 0.{020..900} seconds</p>",
    ),
}

LISTS = {
    "first": listed(
        "Ada Ben Cleo Dan Eva Finn Gina Hugo Ines Jon Kara Leo Mona Nils Olga Paul Quinn Rosa Tara Uwe"
    ),
    "last": listed(
        "Adams Baker Clark Dubois Evans Foster Garcia Hansen Ito Jones Khan Lopez Meyer Novak Owens Rossi"
    ),
    "person": ["{first} {last}"],
    "role": listed("Clerk Director Engineer Inspector Planner Analyst Librarian Secretary"),
    "department": listed("Library|Public Works|Finance|Planning|Parks|Water|Human Resources|Housing"),
    "committee": listed("Finance Planning Housing Parks Schools Traffic Culture Water"),
    "place": listed("Town Hall|Library|Room 12|Fire Station|Old School|Council Chamber"),
    "month": listed(
        "January February March April May June July August September October November December"
    ),
    "date": ["{1..28} {month} {2015..2024}"],
    "quarter": listed("00 15 30 45"),
    "town": listed(
        "Aldham Barrow Carlow Dunford Elmley Farside Gorton Hexley Ilford Jarrow Kelby Lundy"
    ),
    "club": listed("United City Rovers Athletic"),
    "verb": listed("get set add find open read sort"),
    "thing": listed("chair lamp table bowl"),
    "cents": listed("00 50 95"),
    "hobby": listed("chess hiking music films football cooking books"),
    "colour": listed("red blue green black white grey brown yellow"),
    "shape": listed("round square oval long flat curved"),
    "material": listed("oak steel glass cotton paper leather clay wool"),
    "dye": listed("red blue"),
    "size": listed("S L"),
    "part": listed("full part"),
    "happening": listed("Concert|Reading|Exhibition|Flea market|Lecture|Workshop|Film"),
    "surname": list("王李张刘陈杨赵黄周吴徐孙胡朱高林何郭"),
    "given": list("伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂"),
    "office": listed("办公室 财务处 人事处 教务处 科研处 后勤处 图书馆 信息中心"),
    "post": listed("主任 副主任 科长 工程师 会计 秘书 讲师 教授"),
    "goods": listed("水杯 台灯 书包 雨伞 键盘 耳机 毛巾 茶壶 风扇 背包 手表 沙发"),
    "quality": listed("便携 经典 加厚 静音 防水 轻便 智能 环保 简约 复古"),
    "claim": listed(
        "做工精细 经久耐用 使用方便 色彩鲜艳 手感舒适 适合送礼 性价比高 容易清洗 安全可靠 节能省电"
    ),
    "letter": list("ABCDEFGH"),
}
# {name} is the name that was drawn, {name0} its first word.
KINDS = {
    "staff": "{person} | # {name} | {role}, {department} | Phone (555) 555-{0000..9999}",
    "meetings": (
        "{committee} Committee, {date} | # {name} | {6..22}:{quarter}, {place} | Agenda and minutes"
    ),
    "matches": (
        "{town} {club} - {town} {club} | {name} | {0..4} : {0..4} | Spectators {80..4000} | Referee {person}"
    ),
    "functions": "{verb}_{word} | # {name} | {name}({word}, flags=0) | Returns the {word} of {word}.",
    "products": (
        "{Word} {material} {thing} | # {name} | Price {5..400}.{cents} | Item no. {10000..99999} | In stock"
    ),
    "profiles": (
        "{word}{1..99} | # {name} | From {town} | Age {16..80} | Joined {date} | Likes {hobby} and {hobby}"
    ),
    "three values": "{colour} {shape} {material} | {name0} | {name1} | {name2}",
    "two numbers": "Section {0..99} of {0..99} | Open {name1} | Closed {name3}",
    "colours and sizes": (
        "{last} {material} shirt {dye} {size} | # {name0} {name1} shirt | Colour: {name3} | Size: {name4}"
    ),
    "jobs": (
        "{role} ({part} time), {town} | # {name} | The department of {department} is looking for somebody "
        "who works with us. | Salary {28..90},000 a year | Apply until {date} to {person}."
    ),
    "events": "{happening}: {Word} | # {name} | {date}, {6..22}:{quarter} | {place}, {town}",
    "bus stops": (
        "{town}, {Word} Street | # {name} | Line {1..60} to {town}: {6..9}:{quarter}, {12..22}:{quarter} | "
        "Line {1..60} to {town}: {6..9}:{quarter}, {12..22}:{quarter}"
    ),
    "quotations": (
        "{person} on {word} | Who looks for {name3} in {word} will find {word} and lose {word}. | "
        "{name0} {name1}"
    ),
    "Chinese staff": "{surname}{given}{given} | # {name} | {office} {post} | 电话：0{10..99}-{20000000..89999999}",
    "Chinese products": (
        "{quality}{goods} {letter}{100..999} | # {name} | 价格：{9..999}.00元 | {claim}，{claim}。 | 货到付款"
    ),
}
# What changes at each loading.
COUNTERS = "Views: {20..5000} | {12..90} queries in 0.{020..900} seconds"


class Site(Protocol):
    """A site of *count* contents: the number of the content at each of its *addresses*, and answers."""

    count: int
    addresses: list[tuple[str, int]]

    def answer(self, number: int) -> str:
        """Return a page with that content, as it is now."""


@dataclass(frozen=True, slots=True)
class Article:
    title: str
    text: tuple[tuple[str, ...], ...]


class Articles:
    """Articles, each in words of its own and those of all; noise of a *kind* stands beside them."""

    def __init__(self, kind: str, count: int, seed: int, *, titled: bool) -> None:
        self._rng = rng = Random(seed)
        self._language = language = Language(rng, chinese=kind.startswith("Chinese"))
        self._articles = [self._article() for _ in range(count)]
        self._frame = frame(rng, FRAME, chinese=kind.startswith("Chinese"))
        self._lists = LISTS | {
            "member": [word.capitalize() for word in language.vocabulary(80)],
            "advert": [language.sentence(language.vocabulary(), 12) for _ in range(40)],
            "quotation": [language.sentence(language.vocabulary()) for _ in range(60)],
            "verse": [language.joined(language.vocabulary(3)) for _ in range(60)],
        }
        self._kind, self._titled, self.count = kind, titled, count
        self.addresses = [(url.format(n=number), number) for number in range(count) for url in URLS]

    def _article(self) -> Article:
        """Return an article; small ones are frequent."""
        subject = self._language.vocabulary()
        title = self._language.joined(self._rng.sample(subject[:30], 4))
        size = min(MOST, int(FEWEST * self._rng.paretovariate(1.5)))
        return Article(title, self._language.text(subject, size))

    def answer(self, number: int) -> str:
        """Return the article with noise above and below its text."""
        shown = self._articles[number]
        above, below = (self._beside(side, shown) for side in (NOISE | MARKED)[self._kind])
        text = "\n".join(f"<p>{' '.join(sentences)}</p>" for sentences in shown.text)
        html = "\n".join(filter(None, (f"<h1>{shown.title}</h1>", above, text, below)))
        site = self._frame.site
        title = f"{shown.title} - {site}" if self._titled else site
        return document(title, self._frame.head + html + self._frame.foot)

    def _beside(self, template: str, shown: Article) -> str:
        titles = [other.title for other in self._articles if other != shown]
        related = self._rng.sample(titles, min(LINKS, len(titles)))
        links = "".join(f"<li>{one}</li>" for one in related)
        if self._kind in MARKED:
            return filled(template.replace("{links}", links), self._rng, self._lists)
        return in_lines(template.replace("{related}", " | ".join(related)), self._rng, self._lists)


class Records:
    """Records of a *kind*, at most so many, one in five at another address, too."""

    def __init__(self, kind: str, count: int, seed: int, *, titled: bool, still: bool = False) -> None:
        self._rng = rng = Random(seed)
        self._records = records_of(kind, count, rng)
        self._frame = frame(rng, FRAME_OF_RECORDS, chinese=kind.startswith("Chinese"))
        self._titled, self._counters = titled, "" if still else COUNTERS
        self.count = len(self._records)
        again = rng.sample(range(self.count), round(COPIES * self.count))
        self.addresses = [(f"{HOST}/{number}", number) for number in range(self.count)]
        self.addresses += [(f"{HOST}/{number}?from=x", number) for number in again]

    def answer(self, number: int) -> str:
        """Return the record with counters."""
        name, body = self._records[number]
        counters = in_lines(self._counters, self._rng, LISTS)
        return self._frame.page(f"{body}\n{counters}", name if self._titled else "")


def records_of(kind: str, count: int, rng: Random) -> list[tuple[str, str]]:
    """Return the names and the HTML of so many records of a *kind* at most, no two of which say the same."""
    found: dict[str, str] = {}
    of_name, of_body = KINDS[kind].split(" | ", 1)
    for _ in range(20 * count):  # of some there are but 384
        if len(found) == count:
            break
        name = filled(of_name, rng, LISTS)
        words = {f"name{place}": [word] for place, word in enumerate(name.split())}
        found.setdefault(in_lines(of_body, rng, {**LISTS, **words, "name": [name]}), name)
    return [(name, body) for body, name in found.items()]
