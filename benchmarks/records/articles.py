"""Articles: met again with noise, edited, and as a series of addresses of each post."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from benchmarks.records.kinds import LISTS
from benchmarks.records.writing import Frame, Language, Load, document, filled, frame, in_lines

FRAME = 150
SERIES = 5
URLS = (
    "http://articles.example/{n}",
    "http://articles.example/{n}?from=feed",
    "http://articles.example/old/{n}.html",
)
IN_A_ROW, SHUFFLED = ORDERS = ("in a row", "shuffled")

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
_REPLY = "{related} | Reply to {member}"


@dataclass(frozen=True, slots=True)
class Article:
    """An article: paragraphs of sentences, the words of its subject, and where it stands."""

    title: str
    text: tuple[tuple[str, ...], ...]
    subject: tuple[str, ...] = ()
    line: str = ""  # below the headline
    comments: str = ""
    mark: str = ""  # after the title of the document
    is_bare: bool = False  # without the frame of the site
    is_untitled: bool = False

    def page(self, of_site: Frame, *, titled: bool, above: str = "", below: str = "") -> str:
        """Return its HTML, with noise *above* and *below* the text."""
        text = "\n".join(f"<p>{' '.join(sentences)}</p>" for sentences in self.text)
        parts = (f"<h1>{self.title}</h1>", self.line, above, text, self.comments, below)
        html = "\n".join(filter(None, parts))
        title = f"{self.title} - {of_site.site}" if titled else of_site.site
        html = html if self.is_bare else of_site.head + html + of_site.foot
        return document("" if self.is_untitled else title + self.mark, html)


class Writer:
    """Writes articles, each in words of its own and those of all, and what may stand beside them."""

    def __init__(
        self, rng: Random, count: int, *, fewest: int = 150, most: int = 600, chinese: bool = False
    ) -> None:
        self.rng = rng
        self.language = language = Language(rng, chinese=chinese)
        self.articles = [self.article(fewest, most) for _ in range(count)]
        self.frame = frame(rng, FRAME, chinese=chinese)
        self.lists = LISTS | {
            "member": [word.capitalize() for word in language.vocabulary(80)],
            "advert": [language.sentence(language.vocabulary(), 12) for _ in range(40)],
            "quotation": [language.sentence(language.vocabulary()) for _ in range(60)],
            "verse": [language.joined(language.vocabulary(3)) for _ in range(60)],
        }

    def article(self, fewest: int, most: int) -> Article:
        """Return an article of *fewest* to *most* words; small numbers are frequent."""
        subject = self.language.vocabulary()
        title = self.language.joined(self.rng.sample(subject[:30], 4))
        size = min(most, int(fewest * self.rng.paretovariate(1.5)))
        return Article(title, self.language.text(subject, size), tuple(subject))

    def beside(self, template: str, article: Article, links: int) -> str:
        """Return what stands beside *article*, with *links* to others."""
        others = self.rng.sample([other.title for other in self.articles if other != article], links)
        return in_lines(template.replace("{related}", " | ".join(others)), self.rng, self.lists)

    def changed(self, article: Article, change: Callable[[list[str]], list[str]]) -> Article:
        """Return the article with the words of one of its sentences changed."""
        text = [list(sentences) for sentences in article.text]
        sentences = self.rng.choice(text)
        place = self.rng.randrange(len(sentences))
        sentences[place] = " ".join(change(sentences[place].split()))
        return replace(article, text=tuple(map(tuple, text)))


def noise_loads(kind: str, count: int, rng: Random, *, titled: bool, order: str) -> list[Load]:
    """Return articles at three addresses each; each answer has noise of its own."""
    writer = Writer(rng, count, chinese=kind.startswith("Chinese"))
    loads = []
    for number, article in enumerate(writer.articles):
        for turn, url in enumerate(URLS):
            above, below = (
                writer.beside(template, article, min(5, count - 1)) for template in NOISE[kind]
            )
            html = article.page(writer.frame, titled=titled, above=above, below=below)
            loads.append(Load(url.format(n=number), html, number, turn))
    if order == SHUFFLED:
        rng.shuffle(loads)
    return loads


def series_loads(_: str, count: int, rng: Random, *, titled: bool) -> list[Load]:
    """Return posts, then their second addresses, and so on: each with random links and another reply."""
    writer = Writer(rng, count, fewest=60, most=300)
    loads = []
    for turn in range(SERIES):
        for number in rng.sample(range(count), count):
            url = URLS[0].format(n=number) + (f"?replytocom={turn}" if turn else "")
            below = writer.beside(_REPLY, post := writer.articles[number], min(4, count - 1))
            loads.append(Load(url, post.page(writer.frame, titled=titled, below=below), number, turn))
    return loads


# Edits: the first version of an article, and the second one
Pair = tuple[Article, Article]


def _one_word(writer: Writer, article: Article) -> Pair:
    def change(words: list[str]) -> list[str]:
        place = writer.rng.randrange(1, len(words) - 1)
        (new,) = writer.language.words(1, article.subject)
        return [*words[:place], new if new != words[place] else "otherwise", *words[place + 1 :]]

    return article, writer.changed(article, change)


def _code(writer: Writer, article: Article) -> Pair:
    one, two = (f"worker{number}" for number in writer.rng.sample(range(1, 30), 2))
    first = writer.changed(article, lambda words: [*words[:3], one, *words[3:]])
    text = tuple(tuple(sentence.replace(one, two) for sentence in each) for each in first.text)
    return first, replace(first, text=text)


def _sentence_added(writer: Writer, article: Article) -> Pair:
    new = writer.language.sentence(article.subject).split()
    return article, writer.changed(article, lambda words: [*words, *new])


def _sentence_replaced(writer: Writer, article: Article) -> Pair:
    def change(words: list[str]) -> list[str]:
        return writer.language.sentence(article.subject, len(words)).split()

    return article, writer.changed(article, change)


def _paragraph(writer: Writer, article: Article) -> Pair:
    text = list(article.text)
    text.insert(writer.rng.randint(0, len(text)), (writer.language.sentence(article.subject, 12),))
    return article, replace(article, text=tuple(text))


def _untitled(change: Callable[[Writer, Article], Pair]) -> Callable[[Writer, Article], Pair]:
    def edit(writer: Writer, _: Article) -> Pair:
        first, second = change(writer, writer.article(300, 300))
        return replace(first, is_bare=True, is_untitled=True), replace(
            second, is_bare=True, is_untitled=True
        )

    return edit


def _mirror(writer: Writer, article: Article) -> Pair:
    first, second = _one_word(writer, article)
    return first, replace(second, mark=" | Mirror")


def _print_view(writer: Writer, article: Article) -> Pair:
    line = "<p>Posted by {member} on {month} {1..28} @ {1..12}:00 pm | {0..30} Comments</p>"
    return article, replace(article, line=filled(line, writer.rng, writer.lists), is_bare=True)


def _without_comments(writer: Writer, article: Article) -> Pair:
    said = [
        f"{{member}} says: {writer.language.sentence(article.subject)}"
        for _ in range(writer.rng.randint(3, 7))
    ]
    comments = in_lines(" | ".join(["# Comments", *said]), writer.rng, writer.lists)
    return replace(article, comments=comments), article


def _redirected(writer: Writer, article: Article) -> Pair:
    old = " ".join(writer.rng.sample(article.subject[:20], 2)).capitalize()
    return article, replace(article, line=f"<p>(Redirected from {old})</p>")


EDITS: dict[str, Callable[[Writer, Article], Pair]] = {
    "one word": _one_word,
    "a code": _code,
    "sentence added": _sentence_added,
    "sentence replaced": _sentence_replaced,
    "paragraph of 12 words": _paragraph,
    "title - updated": lambda _, article: (
        article,
        replace(article, title=f"{article.title} - updated"),
    ),
    "title | Mirror, one word": _mirror,
    "untitled elsewhere, one word": _untitled(_one_word),
    "untitled elsewhere, a code": _untitled(_code),
    "print view": _print_view,
    "without comments": _without_comments,
    "redirected": _redirected,
}


def edit_loads(kind: str, count: int, rng: Random, *, titled: bool) -> list[Load]:
    """Return first versions of articles, then the second ones in any order; untitled ones on another host."""
    writer = Writer(rng, count)
    turns: list[list[Load]] = [[], []]
    for number, article in enumerate(writer.articles):
        for turn, version in enumerate(EDITS[kind](writer, article)):
            url = URLS[turn].format(n=number)
            url = url.replace("articles", "mirror") if turn and version.is_untitled else url
            turns[turn].append(Load(url, version.page(writer.frame, titled=titled), number, turn))
    rng.shuffle(turns[1])
    return turns[0] + turns[1]
