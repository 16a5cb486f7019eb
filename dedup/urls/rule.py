"""Rules: what does not matter in the URLs of a host, how a crawl obeys them, and which it proposes."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from dedup.model.errors import ConfigError, printable

# Scheme, host with port, path, query; with a fragment a browser may show another page.
_URL = re.compile(r"(https?)://([^/?#\\]*)([^?#\\]*)(?:\?([^#]*))?#?\Z", re.IGNORECASE | re.DOTALL)
# What tells the pages of one kind apart: numbers, and the hexadecimal digests of files and commits.
_VARIABLE = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{7,64}(?![0-9A-Za-z])|[0-9]+")
_MOST_PAIRS, _MOST_PARAMETERS, _MOST_FOLDERS = 30, 10, 3
_MOST_RULES = 20  # of one URL
_LONGEST_URL, _LONGEST_RULE = 2000, 500
# A parameter of a path, for instance ";jsessionid=1".
_PATH_PARAMETER = re.compile(r";([A-Za-z_][\w.-]{0,40})(?:=[^/;]*)?(?=[/;]|\Z)")
_INDEX = re.compile(r"/((?:index|default)\.(?:html?|php|aspx?|jsp|cgi))\Z", re.IGNORECASE)
# Names of other views of a page, as a segment or at the end; any other segment may be what a page is.
_VIEWS = ("amp", "print", "printable", "printer", "printer-friendly", "mobile", "pda", "text")
_VIEW = re.compile(rf"(/(?:{'|'.join(_VIEWS)}))(?=/|\Z)", re.IGNORECASE)
_ALIAS = re.compile(r"((?:www|m|mobile)\.)(?=[^.]+\.)")
# A free name after a segment with a number: /news/4711/any-name.
_NAMED = re.compile(r"(/(?:[^/]+/)*)[^/]*[0-9][^/]*/[^/]+\Z")
_NUMBERS, _SIGNS = re.compile(r"(?<=/)[0-9]+(?=/)"), re.compile(r"[*{}]")
# What stands for a segment that tells pages apart, for a free one, and for a free rest.
_WILD = re.compile(r"(\{[^{}/]*\}|/\*\*\Z|/\*\Z|\*)")
_REGEX = {"/**": "(?:/.*)?", "/*": "(?:/[^/]*)?", "*": "[^/]*"}

ANY_PATH = "*"  # the pattern of every path

# URLs in parts, and patterns of them


class Parts(NamedTuple):
    """A URL in parts: *host* with its port, *path* from its first slash on, *query* sorted."""

    scheme: str
    host: str
    path: str
    query: tuple[str, ...]


def parts_of(url: str) -> Parts | None:
    """Return the parts of *url*, None for one that no rule is for.

    Such are not of the web, too long, or have a fragment or a user name.  Where a query has no ``&``,
    its pieces are between ``;``, as gitweb writes them.

    >>> parts_of("http://A.example/x?b=2&a=1")
    Parts(scheme='http', host='a.example', path='/x', query=('a=1', 'b=2'))
    """
    if len(url) > _LONGEST_URL or (found := _URL.match(url)) is None:
        return None
    scheme, host, path, query = found.groups()
    pieces = list(filter(None, query.split("&" if "&" in query else ";"))) if query else []
    if not host or "@" in host or len(pieces) > _MOST_PAIRS:
        return None
    return Parts(scheme.lower(), host.lower(), path or "/", tuple(sorted(pieces)))


def without_anchor(url: str) -> str:
    """Return *url* without a fragment that is a place on its page; that of an application stays.

    >>> without_anchor("http://a.example/x#line-7"), without_anchor("http://a.example/#/x")
    ('http://a.example/x', 'http://a.example/#/x')
    """
    page, _, fragment = url.partition("#")
    return url if "/" in fragment or "!" in fragment else page


def parameter_of(piece: str) -> str:
    """Return the name in a *piece* of a query."""
    return piece.partition("=")[0]


@lru_cache(maxsize=4096)
def shape_of(path: str) -> str:
    """Return *path* without what tells pages of one kind apart.

    >>> shape_of("/wiki/page-12/3f2a91b")
    '/wiki/page-#/#'
    """
    return _VARIABLE.sub("#", path.replace("*", "%2A"))


def place_of(parts: Parts) -> str:
    """Return the narrowest pattern of a URL: the shape of its path, and the names in its query.

    >>> place_of(Parts("http", "a.example", "/shop/item7", ("id=1",)))
    '/shop/item#?id'
    """
    names = "&".join(dict.fromkeys(map(parameter_of, parts.query)))
    return shape_of(parts.path) + (f"?{names}" if names else "")


def patterns_of(parts: Parts) -> tuple[str, ...]:
    """Return the patterns of a URL, the widest first: of all paths, its first three folders, its place.

    >>> patterns_of(Parts("http", "a.example", "/wiki/page/12", ()))
    ('*', '/wiki/*', '/wiki/page/*', '/wiki/page/#')
    """
    path = shape_of(parts.path)
    ends = [found.end() for found in re.finditer("/", path)][1 : _MOST_FOLDERS + 1]
    return (ANY_PATH, *(f"{path[:end]}*" for end in ends), place_of(parts))


def covers(pattern: str, place: str) -> bool:
    """Return whether URLs of a *place*, or all of a narrower pattern, have the *pattern*.

    >>> covers("/wiki/*", "/wiki/page/#"), covers("/wiki/*", "/wikis"), covers("/x?id", "/x?id")
    (True, False, True)
    """
    is_inside = pattern.endswith("/*") and place.startswith(pattern[:-1])
    return is_inside or pattern in (ANY_PATH, place)


# Rules


class Rule(NamedTuple):
    """What *ignore* names does not matter in the URLs of *host*, on *paths* of a pattern.

    *ignore* is ``?name`` or ``;name`` for a parameter, ``/name`` for a segment that is another view,
    ``/`` for a slash at the end, ``index.html`` for such a name at the end, ``www.`` for the begin of a
    host, ``http:`` for the scheme, or a pattern of paths of which each ``{id}`` has one page:
    ``/news/{id}/*`` whatever the last segment is, ``/manual/{id}/**`` whatever follows.
    """

    host: str
    ignore: str
    paths: str = ANY_PATH

    def applied(self, parts: Parts) -> Parts:
        """Return *parts* without it; the same where it is not there, or the paths are others."""
        left = without(self.ignore, parts)
        return left if left != parts and covers(self.paths, place_of(left)) else parts

    @property
    def words(self) -> str:
        """What it says, for people."""
        of = printable(self.ignore, 60)
        parameter = "the parameter " * (of[0] in "?;")
        said = f"{of} is one page" if "*" in of else f"{parameter}{of} does not matter"
        said = _WORDS.get(of, said)
        return said if self.paths == ANY_PATH else f"{said}, at {printable(self.paths)}"

    @classmethod
    def checked(cls, host: str, ignore: str, paths: str = ANY_PATH) -> Rule:
        """Return a rule that a person has written; raises `ConfigError` where it says nothing."""
        is_page = re.fullmatch(r"/[^\s*]\S*\*\S*", ignore)
        is_index = _INDEX.match(f"/{ignore}") or re.fullmatch(r"[\w-]+\.\w+", ignore)
        is_named = re.fullmatch(r"[?;][^&=;/?#*\s]+|/[^/?#*{}\s]*|http:|(?:www|m|mobile)\.", ignore)
        if not (is_page or is_index or is_named) or len(ignore) > _LONGEST_RULE:
            raise ConfigError(
                f"ignore ({printable(ignore, 60)!r}) must be ?name, ;name, /name, /, index.html, www., "
                "http:, or a pattern of paths such as /news/{id}/*"
            )
        if not re.fullmatch(r"[^\sA-Z/@?#]+", host):
            raise ConfigError(f"host ({printable(host, 60)!r}) must be a name such as www.example.com")
        if not re.fullmatch(r"\*|/\S*", paths):
            raise ConfigError(f"paths ({printable(paths, 60)!r}) must be * or begin with /")
        return cls(host, ignore, re.sub("[0-9]+", "#", paths))


_WORDS = {"/": "a slash at the end does not matter", "http:": "http and https show the same"}


def without(ignore: str, parts: Parts) -> Parts:
    """Return *parts* without what *ignore* names."""
    path = parts.path
    if ignore[0] == "?":
        if ignore[1:] not in "&".join(parts.query):
            return parts
        return parts._replace(query=tuple(one for one in parts.query if parameter_of(one) != ignore[1:]))
    if ignore[-1] == ":":  # the ports of the two schemes are two servers
        is_plain = parts.scheme == "http" and ":" not in parts.host
        return parts._replace(scheme="https") if is_plain else parts
    if ignore[-1] == ".":
        is_there = parts.host.startswith(ignore)
        return parts._replace(host=parts.host.removeprefix(ignore)) if is_there else parts
    if "*" in ignore:
        path = _page_of(ignore)(path)
    elif ignore[0] == ";":
        path = _PATH_PARAMETER.sub(lambda found: "" if found[1] == ignore[1:] else found[0], path)
    elif ignore == "/":
        path = path.rstrip("/")
    elif ignore[0] == "/":
        path = re.sub(rf"{re.escape(ignore)}(?=/|\Z)", "", path)
    elif path.endswith(f"/{ignore}"):
        path = path.removesuffix(ignore)
    return parts if path == parts.path else parts._replace(path=path or "/")


@lru_cache(maxsize=1024)
def _page_of(pattern: str) -> Callable[[str], str]:
    """Return what puts a star into a path in the place of all that is free in *pattern*."""
    parts = _WILD.split(pattern)  # every second one is wild
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = ["([^/]+)" if wild[0] == "{" else _REGEX[wild] for wild in parts[1::2]]
    whole = re.compile("".join(parts), re.DOTALL)

    def page(path: str) -> str:
        if (found := whole.fullmatch(path)) is None:
            return path
        named = iter(found.groups())
        return _WILD.sub(lambda wild: next(named) if wild[0][0] == "{" else wild[0], pattern)

    return page


def forms_of(parts: Parts) -> Iterator[str]:
    """Yield all that may be ignored in a URL, each once."""
    path, names = parts.path, dict.fromkeys(map(parameter_of, parts.query))
    yield from (f"?{name}" for name in islice(names, _MOST_PARAMETERS))
    yield from (f";{name}" for name in dict.fromkeys(_PATH_PARAMETER.findall(path)))
    if path[-1] == "/" and path.strip("/"):
        yield "/"
    elif found := _INDEX.search(path):
        yield found[1]
    yield from dict.fromkeys(_VIEW.findall(path))
    if (found := _NAMED.match(path)) and not _SIGNS.search(path):
        yield f"{_NUMBERS.sub('{id}', found[1])}{{id}}/*"
    if found := _ALIAS.match(parts.host):
        yield found[1]
    if parts.scheme == "http" and ":" not in parts.host:
        yield "http:"


class Rules:
    """Rules by host."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.all = frozenset(rules)
        self._of_host: dict[str, list[Rule]] = {}
        for rule in sorted(self.all):
            self._of_host.setdefault(rule.host, []).append(rule)

    def normal(self, url: str) -> tuple[Parts | None, frozenset[Rule]]:
        """Return what is left of *url*, and the rules that say so; None for one that none is for."""
        parts = parts_of(url) if self.all else None
        used: set[Rule] = set()
        before = None
        # What is left of a path may end in what another rule ignores: /x/index.html, /x/ and /x.
        while parts is not None and parts != before and len(used) < _MOST_RULES:
            before = parts
            for rule in self._of_host.get(parts.host, ()):
                if (left := rule.applied(parts)) != parts:
                    parts = left
                    used.add(rule)
        return parts, frozenset(used)


# The last ones mostly are for tracking or sessions, but not everywhere.
_TRACKING = re.compile(
    r"[?;](?:utm_[a-z_]+|(?:hsa|mtm|pk|piwik)_[a-z]+|(?:d|fb|g|osc|tt|tw|y|ys)clid|[gw]braid|gclsrc|"
    r"igshid|mc_[ce]id|_g[al]|(?:php|j|asp)sess(?:ion)?id|cfid|cftoken|msclkid|zenid|s_kwcid)|"
    r"\?(?:ref|referr?er|s|session(?:_?id)?|sid|source|src)"
)
# Of wikis and of programs that show repositories: most pages have one version only.
_VERSIONS = re.compile(r"\?(?:(?:old_)?version|ver|rev[12]?|revision|oldid|diff|at|hb?)")

# Words of addresses that change something, and of parameters whose value works once.
_ACTION_WORDS = """
abmelden abonnieren add agregar ajouter anadir apagar basket borrar buy cancel carrello carrinho carrito
cart checkout comprar confirm deconnexion deinscription del delete desabonner desinscription deslogar
desuscribir elimina eliminar esci excluir kaufen korzina koszyk like loeschen log-out logoff logout
loschen löschen merken order panier purchase remove reset sair salir sepet sign-out signoff signout
subscribe supprimer uitloggen unlike unsubscribe upvote usun varukorg verwijderen vota votar vote voter
warenkorb winkelwagen wyloguj выход выйти корзина удалить голосовать 退出 注销 登出 购物车 購物車 删除
刪除 投票 取消 ログアウト カート 削除 로그아웃 장바구니 삭제
"""
_ACTIONS = frozenset(_ACTION_WORDS.split())
_TOKENS = re.compile(r"auth|code|csrf|hash|key|nonce|otp|secret|sig|signature|token")
_PARTS = re.compile(r"[/.?&=+_\s]+")
_SORTS = re.compile(r"(?:order|sort)_?(?:by|dir|direction|order)?")


def is_version(ignore: str) -> bool:
    """Return whether a parameter says by its name which version is meant.

    Where most pages have one version only, the others would be taken for copies of it.
    """
    return _VERSIONS.fullmatch(ignore.lower()) is not None


def is_harmless(url: str) -> bool:
    """Return whether nothing in *url* says that asking for it changes something, or works once only.

    Session ids work again, and "order" is what lists are sorted by where a parameter says so.

    >>> is_harmless("https://a.example/cars/add-ons?orderby=menu_order"), is_harmless("https://a.example/cart")
    (True, False)
    """
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    if any(_TOKENS.fullmatch(part) for name, _ in query for part in _PARTS.split(name.lower())):
        return False
    sought = "&".join(
        value.lower().replace("order", "") if _SORTS.fullmatch(name.lower()) else f"{name}={value}"
        for name, value in query
    )
    return _ACTIONS.isdisjoint(_PARTS.split(f"{unquote(parts.path)}?{sought}".lower()))


def is_one_address(one: str, other: str, harmless: Collection[str] = ()) -> bool:
    """Return whether two URLs differ only in what does not matter: for tracking, or *harmless*."""
    found: list[Parts] = []
    for parts in map(parts_of, (one, other)):
        if parts is None:
            return one == other
        ignored = (
            ignore  # the scheme and www. are spelling
            for ignore in forms_of(parts)
            if ignore[-1] in ":." or ignore in harmless or _TRACKING.fullmatch(ignore.lower())
        )
        found.append(reduce(lambda left, ignore: without(ignore, left), ignored, parts))
    return found[0] == found[1]


# Obeyed by a crawl

FIRST_LOOKS, STEP = 2, 10
"""The first URLs of a folder that a rule speaks of are asked for all the same, then every so many."""
# Links by which it is seen that a page leads on; where there are more, no rule is obeyed.
_MOST_MET = 1_000_000


class Counterexample(NamedTuple):
    """What is against a *rule*: by it two URLs are one, and they are not, for a *reason*."""

    rule: Rule
    url: str
    other: str
    reason: str


class KnownPage(NamedTuple):
    """A page that the crawl has: its *url*, what it *shows*, and the *rules* that say so of another."""

    url: str
    shows: tuple[int, ...]
    rules: frozenset[Rule]


class Obeyed:
    """The *rules* of one crawl; *run* tells which of the URLs are asked for all the same.

    If it does not know all that the crawl has met, a page that leads on says nothing.
    """

    def __init__(self, rules: Iterable[Rule] = (), run: int = 0, *, knows_all: bool = True) -> None:
        self.rules = Rules(rules)
        self._run, self._knows_all = run, knows_all
        self._known: dict[tuple[Parts | None, str], KnownPage] = {}
        self._met: set[int] = set()
        self._looks: Counter[tuple[Rule, str]] = Counter()

    def page_for(self, url: str, signature: str) -> KnownPage | None:
        """Return the page that *url* would bring again, None to ask for it."""
        key, used = self.rules.normal(url)
        page = self._known.get((key, signature))
        if key is None or not used or page is None or page.url == url or len(self._met) >= _MOST_MET:
            return None
        places = [(rule, place_of(key).rpartition("/")[0]) for rule in used]
        self._looks.update(places)
        counts = map(self._looks.__getitem__, places)
        is_look = any(count <= FIRST_LOOKS or (count + self._run) % STEP == 0 for count in counts)
        return None if is_look else page._replace(rules=used)

    def learn(
        self,
        urls: Sequence[str],
        signature: str,
        shows: tuple[int, ...] | None,
        links: Iterable[str],
        *,
        counts: bool = True,
    ) -> list[Counterexample]:
        """Note a page that *urls* have led to, the last by redirects; return what is against rules.

        These are obeyed no more.  None stands for a page of which nobody knows what it *shows*; one that
        *counts* is what others may repeat.
        """
        new = [url for url in links if not self._was_met(url)]
        for url in dict.fromkeys((urls[0], urls[-1])):
            self._was_met(url)
            key, used = self.rules.normal(url)
            page = self._known.get((key, signature))
            if page is None:
                if shows is not None and counts and key is not None:
                    self._known[key, signature] = KnownPage(urls[-1], shows, used)
            elif shows is not None and shows != page.shows:
                return self._wrong(used | page.rules, url, page.url, "they show two pages")
            elif new and used and page.url not in urls and self._knows_all:
                return self._wrong(used, url, page.url, f"only one leads to {new[0]}")
        return []

    def _was_met(self, url: str) -> bool:
        keys = {hash(url), hash(self.rules.normal(url)[0] or url)}
        is_met = not self._met.isdisjoint(keys)
        self._met |= keys
        return is_met

    def _wrong(self, rules: Collection[Rule], url: str, other: str, reason: str) -> list[Counterexample]:
        """Obey *rules* no more: any of them may be wrong."""
        self.rules = Rules(self.rules.all.difference(rules))
        self._known = {place: one for place, one in self._known.items() if one.rules.isdisjoint(rules)}
        return [Counterexample(rule, url, other, reason) for rule in sorted(rules)]


# Proposed at the end of a crawl, by what its pages show at each URL, and where they lead

GROUPS = 3  # so many groups of URLs, which show as many different pages, speak for a rule
MOST_URLS = 200_000  # of a crawl with more nothing is proposed
CROWD = 50  # or so many URLs of one page, and no other page at this place


class UrlVisit(NamedTuple):
    """A URL that a crawl has asked for, what it shows, and its links."""

    url: str
    shows: tuple[int, ...] | None  # the pages kept that its items are or repeat, None where not known
    links: Collection[str]
    more: bool = False  # it has words that are on none of these


class Proposal(NamedTuple):
    """A *rule*, in how many *groups* of URLs it held, of how many *pages*, and two *examples*."""

    rule: Rule
    groups: int
    pages: int
    examples: tuple[tuple[str, str], ...]
    loses: bool = False  # a page of a group has words that the page kept has not


def propose(visits: Sequence[UrlVisit]) -> list[Proposal]:
    """Return the rules that all *visits* speak for.

    A rule is proposed where URLs that it makes one have shown the same page again and again, and never
    two pages; and where nothing would have been lost, whichever of these URLs a crawl asks for.
    """
    proposed = sorted(_agreed(visits), key=lambda one: (-one.groups, one.rule))
    while proposed and (misled := _misled(visits, Rules(one.rule for one in proposed))):
        proposed = [one for one in proposed if one.rule not in misled]
    return proposed


def contradicted(visits: Iterable[UrlVisit]) -> tuple[int, Rule, str, str] | None:
    """Return what comes nearest to a rule that *visits* do not speak for, None where nothing does.

    None, too, of more than `MOST_URLS` visits.  Before the rule stands in how many groups of URLs it
    held, after it two URLs, of a page each, that are against it.
    """
    best: tuple[int, Rule, str, str] | None = None
    found = [*islice(visits, MOST_URLS + 1)]
    for host, ignore, groups in _grouped(found) if len(found) <= MOST_URLS else ():
        of = [members for members in groups.values() if len(members) > 1]
        apart = [
            (one.url, other.url) for one, *others in of for other in others if other.shows != one.shows
        ]
        held = sum(len({visit.shows for visit in members}) == 1 for members in of)
        if apart and held >= GROUPS and (best is None or held > best[0]):
            best = held, Rule(host, ignore), *apart[0]
    return best


def _agreed(visits: Sequence[UrlVisit]) -> Iterator[Proposal]:
    """Yield the rules that the pages of all URLs agree to, the widest of each."""
    for host, ignore, groups in _grouped(visits):
        yield from _widest(partial(Rule, host, ignore), groups)


def _grouped(visits: Sequence[UrlVisit]) -> Iterator[tuple[str, str, dict[Parts, list[UrlVisit]]]]:
    """Yield each host, what may not matter there, and the visits of URLs that are one without it."""
    pages: dict[Parts, UrlVisit] = {}
    groups: dict[tuple[str, str], dict[Parts, list[UrlVisit]]] = {}
    for visit in visits:
        parts = parts_of(visit.url)
        if parts is None or pages.setdefault(parts, visit) is not visit:
            continue
        for ignore in forms_of(parts):
            of = groups.setdefault((parts.host, ignore), {})
            of.setdefault(without(ignore, parts), []).append(visit)
    for (host, ignore), of in groups.items():
        if not is_version(ignore):
            for key in of.keys() & pages.keys():
                of[key].insert(0, pages[key])
            yield host, ignore, of


def _widest(rule: Callable[[str], Rule], groups: dict[Parts, list[UrlVisit]]) -> Iterator[Proposal]:
    """Yield what *groups* say of a rule for paths of a pattern, of each that nothing contradicts."""
    speaking: dict[str, list[list[UrlVisit]]] = {}
    against: set[str] = set()
    crowded: set[str] = set()
    for key, members in groups.items():
        patterns, shown = patterns_of(key), {visit.shows for visit in members}
        if len(members) > 1 and (len(shown) > 1 or None in shown):
            against.update(patterns)
        elif len(members) > 1:
            for pattern in patterns:
                speaking.setdefault(pattern, []).append(members)
            crowded.update(patterns[-1:] if len(members) >= CROWD else ())
    chosen: list[str] = []
    for pattern in sorted(speaking, key=lambda one: (not one.endswith("*"), one.count("/"))):
        of = speaking[pattern]
        pages = len({members[0].shows for members in of})
        is_enough = min(len(of), pages) >= GROUPS or pattern in crowded
        if is_enough and pattern not in against and not any(covers(one, pattern) for one in chosen):
            chosen.append(pattern)
            examples = tuple((one.url, other.url) for one, other, *_ in of[:2])
            loses = any(visit.more for members in of for visit in members)
            yield Proposal(rule(pattern), len(of), pages, examples, loses)


def _misled(visits: Sequence[UrlVisit], rules: Rules) -> set[Rule]:
    """Return the rules by which a page is lost, if only one is asked for of all URLs that are one.

    Whichever that is, it leads where all of them lead.
    """
    normal = {url: rules.normal(url) for visit in visits for url in (visit.url, *visit.links)}
    keys: dict[str, object] = {url: parts or url for url, (parts, _) in normal.items()}
    nodes: defaultdict[object, list[UrlVisit]] = defaultdict(list)
    for visit in visits:
        nodes[keys[visit.url]].append(visit)
    led: dict[object, list[set[object]]] = {
        node: [{keys[link] for link in visit.links} for visit in of]
        for node, of in nodes.items()
        if len({visit.url for visit in of}) > 1
    }

    def links(node: object) -> set[object]:
        if node in led:
            return set.intersection(*led[node])
        return {keys[link] for visit in nodes[node] for link in visit.links}

    linked = {keys[link] for visit in visits for link in visit.links if keys[link] != keys[visit.url]}
    todo = [node for node in nodes if node not in linked] + [keys[visit.url] for visit in visits[:1]]
    reached = set(todo)
    while todo:
        new = nodes.keys() & links(todo.pop()) - reached
        reached |= new
        todo += new
    unreached = nodes.keys() - reached
    misled: set[Rule] = set()
    for node, of in led.items():
        lost = unreached & (set.union(*of) - set.intersection(*of))
        leading = {visit.url for visit, to in zip(nodes[node], of, strict=True) if to & lost}
        used = {rule for url in leading for rule in normal[url][1]}
        misled |= used or {rule for visit in nodes[node] if lost for rule in normal[visit.url][1]}
    return misled


_HEAD = "# Rules for URLs: what does not matter in them. See docs/how-to/rules-for-urls.md\n"
_SIZE = 10_000_000


def read_rules(path: Path) -> list[Rule]:
    """Return the rules in the file at *path*; raises `ConfigError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return rules_of(file.read(_SIZE).decode("utf-8"))
    except FileNotFoundError as error:
        why = "is not there: `dedup rules --accept` makes it"
        raise ConfigError(f"{printable(str(path))} {why}") from error
    except (OSError, ValueError, ConfigError) as error:
        raise ConfigError(f"{printable(str(path))}: {error}") from error


def rules_of(text: str) -> list[Rule]:
    """Return the rules in *text*; raises `ConfigError` or `ValueError`."""
    found = tomllib.loads(text)
    rules = found.get("rule", [])
    if set(found) - {"rule"} or not isinstance(rules, list):
        raise ConfigError("it must have tables [[rule]], and nothing else")
    for rule in rules:
        if not {"host", "ignore"} <= set(rule) <= set(Rule._fields):
            raise ConfigError("each [[rule]] has host and ignore, and may have paths")
        if not all(isinstance(value, str) for value in rule.values()):
            raise ConfigError("host, ignore and paths must be text")
    return [Rule.checked(**rule) for rule in rules]


def add_rules(path: Path, proposals: Iterable[Proposal]) -> None:
    """Append *proposals* to the file at *path*, which may be new; what it has already stays as it is."""
    text = path.read_text("utf-8") if path.exists() else _HEAD
    there = rules_of(text)
    for one in (one for one in proposals if one.rule not in there):
        said = f"{one.groups} groups of URLs showed {one.pages} pages: {one.rule.words}"
        text += f"\n# {printable(said)}\n[[rule]]\n"
        text += "".join(f"{name} = {json.dumps(value)}\n" for name, value in one.rule._asdict().items())
    rules_of(text)  # or the file would not be read any more
    path.write_text(text, "utf-8")
