"""A page to judge, read from HTML, a tree, a text or a record; when it was seen; how it is stored."""

from __future__ import annotations

import json
import re
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

from dedup.model.errors import DedupError
from dedup.model.fingerprint import MAX_TITLE, NAMED, Fingerprint, Sighting
from dedup.model.hashes import digest
from dedup.model.urls import MAX_URL, host_of, url_key, valid
from dedup.native._pages import rough_words
from dedup.reading.fields import LONG_TEXT, RawPage, decoded, is_long, own_words
from dedup.reading.markup import (
    MAX_BYTES,
    MAX_DEPTH,
    MIN_MAIN_WORDS,
    MIN_SHOWN_WORDS,
    Excess,
    Reading,
    all_roots,
    has_flood,
    is_too_long,
    markup_in,
    places_of,
    reading_of,
    tree_of,
)

if TYPE_CHECKING:
    from tldextract import TLDExtract


# A page that shows fewer words may be no more than the frame of its site.  So many characters have as
# many words, unless it is a page of bytes.
_FULL_PAGE, _BEGINNING = 100, 2000
_LOOKS = frozenset(["class", "style"])  # attributes of how an element looks
# A string of data in a script, as JSON writes it, and what is between those of one in another.
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_STOP = re.compile('["{};]')


def _text_of(root: Any, reading: Reading) -> str:
    """Return the text of *reading*, and the words of long texts in scripts and attributes it has not.

    Of a page that shows `_FULL_PAGE` words those that pictures tell only, none of one with fewer than
    `MIN_SHOWN_WORDS`: that is judged by its bytes.  What a long text is, and what a word, is said in
    `dedup.reading.fields`.
    """
    text = reading.text
    if root is None or (shown := rough_words(text[:_BEGINNING])) < MIN_SHOWN_WORDS:
        return text
    unread = _unread(root) if shown < _FULL_PAGE else reading.told
    # Nothing becomes longer when it is decoded.
    some = (decoded(part) for part in unread if len(part) >= 2 * LONG_TEXT)
    parts = chain.from_iterable(map(_STOP.split, some))
    long_parts = [part for part in parts if is_long(part, LONG_TEXT)]
    words = " ".join(own_words(long_parts, text)) if long_parts else ""
    return f"{text}\n{words}" if words else text


def _unread(root: Any) -> Iterator[str]:
    for element in chain.from_iterable(each.iter("*") for each in all_roots(root)):
        if element.tag == "script" and element.text:
            yield from _STRING.findall(element.text)
        yield from (value for name, value in element.items() if name not in _LOOKS)


@dataclass(frozen=True, slots=True)
class Page:
    """One page or item to judge."""

    url: str  #: "" where it is unknown
    body_digest: bytes  #: the 128-bit digest of the bytes, b"" where there were none but white space
    text: str  #: what is visible
    title: str = ""
    canonical_link: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()  #: the names of all elements, in order
    depths: tuple[int, ...] = ()  #: their distances from the root (0)
    links: tuple[str, ...] = ()  #: the targets of `a` and `area`, as written
    #: Which limit it is over: nothing but its digest is known then, so it repeats only equal bytes.
    excess: Excess | None = None
    item_key: str = ""  #: tells an item from all others
    redirects: tuple[str, ...] = ()  #: the URLs that led here, the first one first
    #: The host where an item was seen, or the folder of a file, None where that is the host of its URL.
    seen_on: str | None = None
    #: About how many words of the text are inside the frame of its site, where they are so few that the
    #: frame is read with them, None where it is left out, or `NAMED`.
    inside: int | None = None
    unjudged: str = field(default="", compare=False)  #: what other fields hold; no verdict depends on it
    variant: str = ""  #: its language and region, where it names alternates of itself in others
    record: str = ""  #: the id of what it says it shows (`record_of`)
    #: Where the lines of the text are (`dedup.reading.markup`), where somebody asked for it.
    places: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def from_html(
        cls, body: bytes | str, *, url: str = "", encoding: str | None = None, with_places: bool = False
    ) -> Page:
        """Return the page in *body*; never raises for its content, however broken.

        *encoding* is what the HTTP header declared, one hint among others, see `decode`.
        """
        data = _bytes(body)
        if len(data) > MAX_BYTES:
            return cls.unread(data, Excess.BYTES, url=url)
        markup = markup_in(body, encoding)
        if has_flood(markup):
            return cls.unread(data, Excess.ATTRIBUTES, url=url)
        return cls._of_tree(tree_of(markup), data, url, with_places=with_places)

    @classmethod
    def from_tree(cls, root: Any, *, body: bytes, url: str = "", with_places: bool = False) -> Page:
        """Return the page of an lxml tree that was parsed already and stays as it is.

        *root* is that of the document, parsed with `huge_tree`, as Scrapy does it: without, a parser
        leaves out what is below 255 levels, and nobody can tell.  *body* is what it was parsed from and
        is only digested.
        """
        if len(body) > MAX_BYTES:
            return cls.unread(body, Excess.BYTES, url=url)
        return cls._of_tree(root, body, url, with_places=with_places)

    @classmethod
    def from_text(cls, text: str, *, url: str = "") -> Page:
        """Return a page that is plain text, without structure."""
        data = _bytes(text)
        if len(data) > MAX_BYTES:
            return cls.unread(data, Excess.BYTES, url=url)
        if is_too_long(text):
            return cls.unread(data, Excess.TEXT, url=url)
        return cls(url=url, body_digest=_digest(data), text=text)

    @classmethod
    def of_raw(cls, raw: RawPage, *, with_places: bool = False) -> Page:
        """Return the page of the HTML or the text of a record, without what else it says."""
        if raw.html:
            return cls.from_html(raw.html, url=raw.url, encoding=raw.encoding, with_places=with_places)
        return cls.from_text(raw.text, url=raw.url)

    @classmethod
    def unread(cls, body: bytes, excess: Excess, *, url: str = "") -> Page:
        """Return the page of a *body* that is not read because of *excess*."""
        return cls(url=url, body_digest=_digest(body), text="", excess=excess)

    def at(self, url: str, body: bytes | str) -> Page:
        """Return the same page at another URL, read from *body*, which has the same tree."""
        return replace(self, url=url, body_digest=_digest(_bytes(body)))

    def of_record(self, raw: RawPage) -> Page:
        """Return the page of the record of *raw*, this being the page of its HTML or text.

        Words that the record says beside its HTML are added to the text, and to the digest; all that it
        says beside to the digest alone of a page that is not read.
        """
        page = replace(self, item_key=raw.item_key, seen_on=raw.seen_on, unjudged=raw.unjudged)
        if not raw.beside:
            return page
        said = "\n".join(raw.beside) if page.excess else " ".join(own_words(raw.beside, raw.markup))
        if not said:
            return page
        page = replace(page, body_digest=_digest(page.body_digest + _bytes(said)))
        text = f"{page.text}\n{said}"
        if page.excess or is_too_long(text):
            return replace(page, text="", excess=page.excess or Excess.TEXT)
        is_named = 0 < rough_words(page.text) < MIN_MAIN_WORDS
        inside, places = NAMED if is_named else page.inside, (*page.places, "") if page.places else ()
        return replace(page, text=text, inside=inside, places=places)

    @classmethod
    def _of_tree(cls, root: Any, body: bytes, url: str, *, with_places: bool) -> Page:
        reading = reading_of(root, with_places=with_places)
        text = _text_of(root, reading)
        if is_too_long(text):
            return cls.unread(body, Excess.TEXT, url=url)
        if len(reading.depths) > MAX_DEPTH and max(reading.depths) > MAX_DEPTH:
            return cls.unread(body, Excess.DEPTH, url=url)
        canonical_link = reading.canonical_link.strip()
        return cls(
            url=url,
            body_digest=_digest(body),
            text=text,
            title=" ".join(reading.title.split())[:MAX_TITLE],
            canonical_link=canonical_link if len(canonical_link) <= MAX_URL else "",
            language=reading.language.strip(),
            tags=reading.tags,
            depths=reading.depths,
            links=reading.links,
            inside=reading.inside,
            variant=_variant(reading, url),
            record=record_of(root, body) if root is not None else "",
            places=places_of(reading.placed, text) if with_places and root is not None else (),
        )


def judged_part(page: Page, ignore: str, markup: Callable[[], str]) -> Page:
    """Return *page* with the text and structure of what ``DEDUP_IGNORE`` does not select in *markup*.

    Its links stay, and pages of equal bytes are copies as before.
    """
    if not ignore or page.excess or not (html := markup()):
        return page
    from parsel import Selector  # most crawls and commands need none

    tree = Selector(text=html, type="html")
    for behind in tree.root.itersiblings("*"):  # what libxml2 makes of a second document
        tree.root.append(behind)
    for ignored in tree.css(ignore):
        if ignored.root.getparent() is not None:
            ignored.root.drop_tree()
    part = reading_of(tree.root, with_places=bool(page.places))
    text = _text_of(tree.root, part)
    places = places_of(part.placed, text) if page.places else ()
    return replace(
        page, text=text, tags=part.tags, depths=part.depths, inside=part.inside, places=places
    )


def _variant(reading: Reading, url: str) -> str:
    if not reading.alternates:
        return ""
    here = {url, reading.canonical_link.strip()}
    own = (language for language, address in reading.alternates if address.strip() in here)
    told = next((language for language in own if language.lower() != "x-default"), reading.language)
    return told.strip().lower()


def _digest(body: bytes) -> bytes:
    return digest(body) if body and not body.isspace() else b""


def _bytes(body: bytes | str) -> bytes:
    return body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")


def scope_key(scope: str, *, spider: str, url: str) -> str:
    """Return the group within which a page is compared, by the name of a *scope*.

    That is the name of its spider for `spider`, its host for `host`, the registered domain of its
    host for `domain`, and "" for `global`: one group of all pages.

    >>> scope_key("domain", spider="news", url="https://www.example.co.uk/a")
    'example.co.uk'
    """
    if scope == "spider":
        return valid(spider)
    if scope == "global":
        return ""
    host = host_of(url)
    # An address or a name without a public suffix ("localhost") is a domain of its own.
    return host if scope == "host" else _extract()(host).top_domain_under_public_suffix or host


@cache
def _extract() -> TLDExtract:
    from tldextract import TLDExtract  # takes longer than most of what a command imports

    # The list that comes with the package: no request, no cache folder.  Private suffixes count:
    # alice.github.io and evil.github.io have two owners.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def sighting_of(
    page: Page,
    fingerprint: Fingerprint,
    *,
    kind: str = "page",
    scope: str = "spider",
    spider: str = "",
    run: int = 0,
    time: float = 0.0,
    is_dry: bool = False,
) -> Sighting:
    """Return the sighting of *page*, which has *fingerprint*, by *spider*.

    *kind* ("page" or "item") and *scope* (the setting ``DEDUP_SCOPE``) say which pages it is compared
    with; a page with a key only with others that have one.  *time* is in seconds since 1970.
    """
    return Sighting(
        fingerprint=fingerprint,
        url=page.url,
        url_key=url_key(page.url),
        kind=f"keyed {kind}" if page.item_key else kind,
        scope=scope_key(scope, spider=spider, url=page.url),
        run=run,
        time=time,
        title=page.title,
        item_key=page.item_key,
        is_dry=is_dry,
        redirects=page.redirects,
        seen_on=page.seen_on,
        unjudged=page.unjudged,
    )


FORM = b"\x09"
# A page that unpacks to more bytes than this is not stored: pages are read as a whole, and in an index
# that was tampered with one could have any size.
LIMIT = 1 << 28
_TEXTS, _LISTS = ("title", "language", "variant", "record"), ("tags", "places")


class UnreadablePage(DedupError):  # noqa: N818 - as its neighbours in `dedup.model.errors`
    """A stored page is damaged, or was stored by a later release."""


def pack(page: Page, *, is_small: bool = True) -> bytes:
    """Return *page* as bytes to store, b"" for one that was not read or takes more than `LIMIT` bytes.

    URL, declared canonical link and digest are in the index anyway; links and source are left out.
    What need not be small takes four times as many bytes, and a quarter of the time.
    """
    if page.excess:
        return b""
    fields: dict[str, Any] = {name: getattr(page, name) for name in (*_TEXTS, "inside")}
    numbers = array("I", page.depths)
    for name in _LISTS:
        found: defaultdict[str, int] = defaultdict(count().__next__)
        numbers.extend(map(found.__getitem__, getattr(page, name)))
        fields[name] = [*found]
    text = page.text.encode("utf-8", "surrogatepass")  # as it is: in JSON it takes twice as long
    told = json.dumps([fields, len(page.depths), len(text)])
    raw = b"".join((told.encode(), b"\n", text, numbers.tobytes()))
    if is_small or len(raw) >= 1 << 16:
        # On a manual, level 4 takes a fifth more time for a tenth fewer bytes.
        return FORM + zlib.compress(raw, int(is_small)) if len(raw) <= LIMIT else b""
    # One block, as zlib writes it at level 0; to make its tables takes ten times as long.
    size, other = (number.to_bytes(2, "little") for number in (len(raw), len(raw) ^ 0xFFFF))
    return b"".join((FORM, b"x\1\1", size, other, raw, zlib.adler32(raw).to_bytes(4)))


def unpack(stored: bytes, *, url: str = "", body_digest: bytes = b"") -> Page:
    """Return the page that `pack` made *stored* from; what that leaves out is given, or empty.

    Given its URL, it has the fingerprint of the page that was packed.  Raises `UnreadablePage`.
    """
    if stored[:1] != FORM:
        raise UnreadablePage("it is not in a form that this release can read")
    try:
        reader = zlib.decompressobj()
        raw = reader.decompress(stored[1:], LIMIT + 1)  # one byte more, to reach the end
        if not reader.eof or reader.unused_data:
            raise ValueError("it has no end, or bytes after it")
        told, _, packed = raw.partition(b"\n")
        fields, count, size = json.loads(told)
        text, both = packed[:size].decode("utf-8", "surrogatepass"), array("I", packed[size:])
        for name, some in zip(_LISTS, (both[count : 2 * count], both[2 * count :]), strict=True):
            fields[name] = tuple(fields[name][number] for number in some)
        depths = tuple(both[:count])
        page = Page(url=url, body_digest=body_digest, text=text, depths=depths, **fields)
        texts = {*(getattr(page, name) for name in _TEXTS), *page.tags, *page.places}
        numbers = (count, size, 0 if page.inside is None else page.inside, *page.depths)
        if not all(isinstance(text, str) for text in texts) or len(page.tags) != count:
            raise ValueError("a part of it is not text, or missing")
        if not all(type(number) is int and 0 <= number < LIMIT for number in numbers):
            raise ValueError("a number of it is below 0, or too large")
    except (zlib.error, LookupError, ValueError, TypeError, RecursionError) as error:
        raise UnreadablePage(f"it is damaged ({error})") from error
    return page


def is_readable(stored: bytes) -> bool:
    """Return whether `unpack` can read *stored*."""
    with suppress(UnreadablePage):
        return bool(unpack(stored))
    return False


# The first of them that a record has names it.  See https://schema.org/Product, /Book,
# /IndividualProduct and, for what an employer calls an advert, /JobPosting.
_IDS = (
    *("sku", "gtin", "gtin13", "gtin12", "gtin8", "gtin14"),
    *("isbn", "productID", "serialNumber", "mpn"),
)
# What is about something else, though it may name a product.
_OTHERS = ("Article", "BlogPosting", "ForumPosting", "MediaPosting", "Recipe", "Review")
_ADVERT = "JobPosting"
_BESIDE = frozenset(["aside", "nav", "footer"])
# An id of more characters is none; so many elements, nodes, and characters of a script are looked at.
_LONGEST, _MOST, _MOST_NODES, _MOST_CHARACTERS = 100, 20, 200, 1 << 18


def record_of(root: Any, body: bytes) -> str:
    """Return the id of the record that the page in the tree *root*, parsed from *body*, shows.

    "" where it names none, or several: then they are those of a list, or of related products.

    >>> from lxml.html import document_fromstring
    >>> html = '<p itemscope>Shirt, <b itemprop="sku">A-17-M</b></p>'
    >>> record_of(document_fromstring(html), html.encode())
    'sku=A-17-M'
    """
    nodes = [*islice(_nodes(root), _MOST_NODES)]
    kinds = (kind for node in nodes for kind in _listed(node.get("@type")) if isinstance(kind, str))
    if any(kind.endswith(_OTHERS) for kind in kinds):
        return ""
    found = {named for node in nodes if (named := _of_node(node))}
    if not found and b"itemprop" in body and any(name.encode() in body for name in _IDS):
        found = _of_microdata(root)
    return found.pop() if len(found) == 1 else ""


def _nodes(root: Any) -> Iterator[dict[str, Any]]:
    """Yield what the JSON-LD of a page is about; not what that names, such as related products."""
    for script in root.iter("script"):
        text = script.text or ""
        if "ld+json" not in (script.get("type") or "").lower() or len(text) > _MOST_CHARACTERS:
            continue
        with suppress(ValueError, RecursionError):  # others can read it no better
            for node in _listed(json.loads(text, strict=False)):
                graph = node.get("@graph") if isinstance(node, dict) else None
                nodes = _listed(graph) if graph else [node]
                yield from (each for each in nodes if isinstance(each, dict))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _of_node(node: dict[str, Any]) -> str:
    """Return the id of a *node* of JSON-LD, or else of its only offer."""
    if _ADVERT in _listed(node.get("@type")):
        named = node.get("identifier")
        value = _id(named.get("value") if isinstance(named, dict) else named)
        return f"identifier={value}" if value else ""
    offers = _listed(node.get("offers"))
    nodes = [node, *(offers if len(offers) == 1 and isinstance(offers[0], dict) else ())]
    found = (f"{name}={value}" for one in nodes for name in _IDS if (value := _id(one.get(name))))
    return next(found, "")


def _id(value: Any) -> str:
    is_id = isinstance(value, str | int) and not isinstance(value, bool)
    text = str(value) if is_id else ""
    return " ".join(text.split()) if len(text) <= _LONGEST else ""


def _of_microdata(root: Any) -> set[str]:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for element in root.xpath("//*[@itemprop]"):
        names = {*islice(element.get("itemprop").split(), _MOST)}.intersection(_IDS)
        if names and not any(one.tag in _BESIDE for one in element.iterancestors()):
            for name in names:
                found[name].append(element)
    if sum(map(len, found.values())) > _MOST:
        return set()
    wanted = next(filter(found.__contains__, _IDS), "")
    return {f"{wanted}={value}" if (value := _id(_said(each))) else "" for each in found[wanted]}


def _said(element: Any) -> str:
    """Return the id that *element* tells, or more characters than one has."""
    texts = map(str.strip, islice(element.itertext(), _LONGEST + 1))
    return element.get("content") or " ".join([*texts, ""])
