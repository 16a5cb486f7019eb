"""Articles: met again with noise, edited, and as a series of addresses of each post."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.records.writing import (
    Frame,
    Language,
    Load,
    distinct_words,
    document,
    frame,
    paragraphs_of,
)

FRAME = 150
ADDRESSES = 3
SERIES = 5
HOST = "http://articles.example"
IN_A_ROW, SHUFFLED = "in a row", "shuffled"


@dataclass(frozen=True, slots=True)
class Article:
    """An article: paragraphs of sentences, the words of its subject, and what readers say below."""

    title: str
    text: tuple[tuple[str, ...], ...]
    subject: tuple[str, ...] = ()
    comments: str = ""
    line: str = ""  # below the headline

    def body(self, *, noise: Sequence[str] = ("", "")) -> str:
        """Return its HTML, *noise* below the headline and below the text."""
        above, below = noise
        parts = (
            f"<h1>{self.title}</h1>",
            self.line,
            above,
            paragraphs_of(self.text),
            self.comments,
            below,
        )
        return "\n".join(filter(None, parts))


class Writer:
    """Writes articles, each in words of its own and those of all."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.language = Language(rng)
        self.names = [word.capitalize() for word in distinct_words(rng, 80)]

    def article(self, fewest: int = 150, most: int = 600) -> Article:
        """Return an article; of its number of words, small ones are frequent."""
        subject = self.language.subject()
        size = min(most, int(fewest * self.rng.paretovariate(1.5)))
        title = " ".join(self.rng.sample(subject[:30], 4)).capitalize()
        text = tuple(map(tuple, self.language.text(subject, size)))
        return Article(title, text, tuple(subject))

    def comments(self, article: Article) -> str:
        """Return what three to seven readers say."""
        said = (
            f"<p>{self.rng.choice(self.names)} says: {self.language.sentence(article.subject)}</p>"
            for _ in range(self.rng.randint(3, 7))
        )
        return "<h3>Comments</h3>\n" + "\n".join(said)


# Noise: what one loading shows below the headline, and below the text


def _views(rng: Random, _: Surroundings) -> tuple[str, str]:
    return f"<p>Views: {rng.randint(20, 9_000)}</p>", ""


def _generated(rng: Random, _: Surroundings) -> tuple[str, str]:
    return "", f"<p>{rng.randint(12, 90)} queries in 0.{rng.randint(20, 900):03} seconds</p>"


def _visitor(rng: Random, around: Surroundings) -> tuple[str, str]:
    names = ", ".join(rng.sample(around.names, 3))
    return "", f"<p>{rng.randint(3, 90)} users online: {names} and {rng.randint(2, 60)} guests</p>"


def _online(rng: Random, _: Surroundings) -> tuple[str, str]:
    return "", f"<p>{rng.randint(3, 90)} users online</p>"


def _likes(rng: Random, _: Surroundings) -> tuple[str, str]:
    return f"<p>{rng.randint(0, 400)} people like this</p>", ""


def _clock(rng: Random, _: Surroundings) -> tuple[str, str]:
    return (
        "",
        f"<p>The time is now {rng.randint(0, 23):02}:{rng.randrange(60):02}:{rng.randrange(60):02}</p>",
    )


def _related(rng: Random, around: Surroundings) -> tuple[str, str]:
    titles = rng.sample(around.titles, min(5, len(around.titles)))
    return "", "<h3>Related posts</h3>\n" + "\n".join(f"<p>{title}</p>" for title in titles)


def _advert(rng: Random, around: Surroundings) -> tuple[str, str]:
    return "", f"<p>{rng.choice(around.adverts)}</p>"


def _quotation(rng: Random, around: Surroundings) -> tuple[str, str]:
    return "", f"<p>{rng.choice(around.quotations)}</p>"


def _all_six(rng: Random, around: Surroundings) -> tuple[str, str]:
    six = [make(rng, around) for make in (_views, _generated, _visitor, _likes, _clock, _related)]
    return "\n".join(above for above, _ in six if above), "\n".join(below for _, below in six if below)


def _chinese(rng: Random, _: Surroundings) -> tuple[str, str]:
    date = f"{rng.randint(2019, 2024)}年{rng.randint(1, 12)}月{rng.randint(1, 28)}日"
    return "", f"<p>页面生成时间 0.{rng.randint(100, 900):04} 秒 {date}</p>"


def _years(rng: Random, _: Surroundings) -> tuple[str, str]:
    return f"<p>Views: {rng.randint(1_900, 2_099)}</p>", ""


def _none(_: Random, __: Surroundings) -> tuple[str, str]:
    return "", ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of a site may stand beside an article."""

    titles: Sequence[str]
    names: Sequence[str]
    adverts: Sequence[str]
    quotations: Sequence[str]

    @classmethod
    def of(cls, writer: Writer, titles: Sequence[str]) -> Surroundings:
        said, choice = writer.language.sentence, writer.rng.choice
        ads = [said(writer.language.subject(), 12) for _ in range(40)]
        quotations = [f"{said(writer.language.subject())} - {choice(writer.names)}" for _ in range(60)]
        return cls(titles, writer.names, ads, quotations)


NOISE: Mapping[str, Callable[[Random, Surroundings], tuple[str, str]]] = {
    "none": _none,
    "views": _views,
    "generated": _generated,
    "visitor": _visitor,
    "users online": _online,
    "likes": _likes,
    "clock": _clock,
    "related": _related,
    "advert": _advert,
    "quotation": _quotation,
    "all six": _all_six,
    "Chinese": _chinese,
    "1900 to 2099": _years,
}


def noise_loads(kind: str, count: int, rng: Random, *, titled: bool, order: str) -> list[Load]:
    """Return articles at three addresses each; each answer has noise of its own."""
    writer = Writer(rng)
    of_site, articles = frame(rng, FRAME), [writer.article() for _ in range(count)]
    around = Surroundings.of(writer, [article.title for article in articles])
    urls = ("{host}/{n}", "{host}/{n}?from=feed", "{host}/archive/{n}.html")
    loads = []
    for number, article in enumerate(articles):
        for turn, url in enumerate(urls):
            body = article.body(noise=NOISE[kind](rng, around))
            html = of_site.page(body, article.title if titled else "")
            loads.append(Load(url.format(host=HOST, n=number), html, number, turn))
    if order == SHUFFLED:
        rng.shuffle(loads)
    return loads


# Edits: a first version, and a second one


@dataclass(frozen=True, slots=True)
class Edit:
    """Two versions of an article; *mark* stands after the title of the second one's document."""

    first: Article
    second: Article
    mark: str = ""
    is_bare: bool = False  # the second has no frame
    is_untitled: bool = False  # neither has a frame or a title, and the second is on another host

    def pages(self, of_site: Frame, number: int, *, titled: bool) -> list[Load]:
        """Return both."""
        loads = []
        for turn, article in enumerate((self.first, self.second)):
            url = f"{HOST}/{number}" + ("?view=2" if turn else "")
            html = article.body()
            if self.is_untitled:
                url = f"http://mirror.example/{number}" if turn else url
                title = ""
            else:
                title = f"{article.title} - {of_site.site}" if titled else of_site.site
                title += self.mark if turn else ""
            if not (self.is_untitled or (turn and self.is_bare)):
                html = of_site.head + html + of_site.foot
            loads.append(Load(url, document(title, html), number, turn))
        return loads


def _with_words(article: Article, writer: Writer, change: Callable[[list[str]], list[str]]) -> Article:
    """Return the article with the words of one of its sentences changed."""
    text = [list(sentences) for sentences in article.text]
    of = writer.rng.choice(text)
    place = writer.rng.randrange(len(of))
    of[place] = " ".join(change(of[place].split()))
    return replace(article, text=tuple(map(tuple, text)))


def _one_word(writer: Writer, article: Article) -> Edit:
    def change(words: list[str]) -> list[str]:
        place = writer.rng.randrange(1, len(words) - 1)
        (new,) = writer.language.words(1, article.subject)
        return [*words[:place], new if new != words[place] else "otherwise", *words[place + 1 :]]

    return Edit(article, _with_words(article, writer, change))


def _code(writer: Writer, article: Article) -> Edit:
    one, two = (f"worker{number}" for number in writer.rng.sample(range(1, 30), 2))
    first = _with_words(article, writer, lambda words: [*words[:3], one, *words[3:]])
    text = tuple(tuple(sentence.replace(one, two) for sentence in each) for each in first.text)
    return Edit(first, replace(first, text=text))


def _sentence_added(writer: Writer, article: Article) -> Edit:
    new = writer.language.sentence(article.subject).split()
    return Edit(article, _with_words(article, writer, lambda words: [*words, *new]))


def _sentence_replaced(writer: Writer, article: Article) -> Edit:
    def change(words: list[str]) -> list[str]:
        return writer.language.sentence(article.subject, len(words)).split()

    return Edit(article, _with_words(article, writer, change))


def _paragraph(writer: Writer, article: Article) -> Edit:
    text = list(article.text)
    text.insert(writer.rng.randint(0, len(text)), (writer.language.sentence(article.subject, 12),))
    return Edit(article, replace(article, text=tuple(text)))


def _untitled(change: Callable[[Writer, Article], Edit]) -> Callable[[Writer, Article], Edit]:
    def edit(writer: Writer, _: Article) -> Edit:
        return replace(change(writer, writer.article(300, 300)), is_untitled=True)

    return edit


def _updated(_: Writer, article: Article) -> Edit:
    return Edit(article, replace(article, title=f"{article.title} - updated"))


def _print_view(writer: Writer, article: Article) -> Edit:
    rng = writer.rng
    date = f"{rng.choice(('May', 'June', 'July'))} {rng.randint(1, 28)} @ {rng.randint(1, 12)}:00 pm"
    line = f"<p>Posted by {rng.choice(writer.names)} on {date} | {rng.randint(0, 30)} Comments</p>"
    return Edit(article, replace(article, line=line), is_bare=True)


def _without_comments(writer: Writer, article: Article) -> Edit:
    return Edit(replace(article, comments=writer.comments(article)), article)


def _redirected(writer: Writer, article: Article) -> Edit:
    old = " ".join(writer.rng.sample(article.subject[:20], 2)).capitalize()
    return Edit(article, replace(article, line=f"<p>(Redirected from {old})</p>"))


EDITS: Mapping[str, Callable[[Writer, Article], Edit]] = {
    "one word": _one_word,
    "a code": _code,
    "sentence added": _sentence_added,
    "sentence replaced": _sentence_replaced,
    "paragraph of 12 words": _paragraph,
    "title - updated": _updated,
    "title | Mirror, one word": lambda *of: replace(_one_word(*of), mark=" | Mirror"),
    "untitled, one word": _untitled(_one_word),
    "untitled, a code": _untitled(_code),
    "print view": _print_view,
    "without comments": _without_comments,
    "redirected": _redirected,
}


def edit_loads(kind: str, count: int, rng: Random, *, titled: bool) -> list[Load]:
    """Return first versions of articles, then the second ones in any order."""
    writer = Writer(rng)
    of_site = frame(rng, FRAME)
    pairs = [
        EDITS[kind](writer, writer.article()).pages(of_site, number, titled=titled)
        for number in range(count)
    ]
    second = [pair[1] for pair in pairs]
    rng.shuffle(second)
    return [pair[0] for pair in pairs] + second


def series_loads(kind: str, count: int, rng: Random, *, titled: bool) -> list[Load]:
    """Return posts, then their second addresses, and so on: each with random links and another reply."""
    writer = Writer(rng)
    of_site, posts = frame(rng, FRAME), [writer.article(60, 300) for _ in range(count)]
    loads: list[Load] = []
    for turn in range(SERIES):
        for number in rng.sample(range(count), count):
            links = "\n".join(f"<p>{rng.choice(posts).title}</p>" for _ in range(4))
            reply = f"<p>Reply to {rng.choice(writer.names)}</p>"
            body = posts[number].body(noise=("", f"{links}\n{reply}"))
            url = f"{HOST}/{number}" + (f"?replytocom={turn}" if turn else "")
            loads.append(
                Load(url, of_site.page(body, posts[number].title if titled else ""), number, turn)
            )
    return loads
