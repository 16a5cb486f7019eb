"""What rules leave of URLs, and the file in which they stand."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.model.errors import ConfigError
from dedup.urls import rule as of_urls
from dedup.urls.rule import Proposal, Rule, Rules, forms_of, is_one_address, without
from tests.support.budget import examples

SITE = "http://a.example"
segments = st.sampled_from(
    ["news", "12", "any-name", "print", "amp", "index.html", "x;sid=1", "", "a b", "*", "{id}", "é", "W"]
)
urls = st.builds(
    lambda host, path, query: f"http{host}/{'/'.join(path)}{'?' * bool(query)}{'&'.join(query)}",
    st.sampled_from(["://a.example", "s://a.example", "://www.a.example", "://m.a.example:80"]),
    st.lists(segments, max_size=5),
    st.lists(st.sampled_from(["id=1", "sid=2", "sid", "=", "b=2;c=3"]), max_size=3),
)


@pytest.mark.parametrize(
    ("ignore", "url", "left"),
    [
        ("?sid", "/x?sid=1&id=2", "http://a.example/x?id=2"),
        (";sid", "/x;sid=1/y;sid=2", "http://a.example/x/y"),
        ("/print", "/a/print/b", "http://a.example/a/b"),
        ("/print", "/a/printer", "http://a.example/a/printer"),
        ("index.html", "/a/index.html", "http://a.example/a/"),
        ("index.html", "/a/myindex.html", "http://a.example/a/myindex.html"),
        ("/", "/a/b//", "http://a.example/a/b"),
        ("http:", "/a", "https://a.example/a"),
        ("/news/{id}/*", "/news/12/any-name", "http://a.example/news/12/*"),
        ("/news/{id}/*", "/news/12", "http://a.example/news/12/*"),
        ("/news/{id}/*", "/news/12/any/name", "http://a.example/news/12/any/name"),
        ("/manual/{id}/**", "/manual/x/y/z/", "http://a.example/manual/x/**"),
        ("/{lang}/p/*/{id}", "/de/p/any/7", "http://a.example/de/p/*/7"),
    ],
)
def test_what_is_left_of_a_url(ignore: str, url: str, left: str) -> None:
    assert Rules([Rule("a.example", ignore)]).normal(SITE + url)[0] == of_urls.parts_of(left)
    assert Rule.checked("a.example", ignore).ignore == ignore


def test_rules_go_on_from_what_others_have_left() -> None:
    of_host = [Rule("a.example", ignore) for ignore in ("index.html", "/")]
    rules = Rules([Rule("www.a.example", "www."), *of_host])
    key, used = rules.normal("http://www.a.example/wiki/index.html")
    assert key == of_urls.parts_of("http://a.example/wiki")
    assert used == rules.all
    assert rules.normal("http://b.example/wiki/")[1] == frozenset()


def test_a_rule_is_for_paths_of_its_pattern() -> None:
    rules = Rules([Rule("a.example", "?sid", "/shop/*")])
    assert rules.normal(f"{SITE}/shop/x?sid=1")[1]
    assert not rules.normal(f"{SITE}/shops?sid=1")[1]
    narrow = Rules([Rule("a.example", "?sid", "/app#.php?act")])
    assert narrow.normal(f"{SITE}/app7.php?act=show&sid=1")[1]
    assert not narrow.normal(f"{SITE}/app7.php?act=show&doc=2&sid=1")[1]


@given(urls)
@settings(max_examples=examples(200), deadline=None)
def test_forms_change_urls_once_and_what_is_left_is_left(url: str) -> None:
    if (parts := of_urls.parts_of(url)) is None:
        return
    forms = list(forms_of(parts))
    assert len(set(forms)) == len(forms)
    for ignore in forms:
        left = without(ignore, parts)
        assert left != parts
        assert without(ignore, left) == left
        place = of_urls.place_of(left)
        assert all(of_urls.covers(pattern, place) for pattern in of_urls.patterns_of(left))
    rules = Rules(Rule(parts.host, ignore) for ignore in forms)
    key = rules.normal(url)[0]
    assert (key is None) == (not forms)
    again = key and f"{key.scheme}://{key.host}{key.path}?{'&'.join(key.query)}&"
    assert rules.normal(again or "")[0] == key


@given(st.text(), st.text())
@settings(max_examples=examples(100), deadline=None)
def test_any_text_is_a_rule_or_is_refused(ignore: str, url: str) -> None:
    try:
        rule = Rule.checked("a.example", ignore)
    except ConfigError:
        return
    Rules([rule]).normal(f"{SITE}/{url}")


@pytest.mark.parametrize(
    ("host", "ignore", "paths"),
    [
        ("a.example", "", "*"),
        ("a.example", "/**", "*"),
        ("a.example", "/*", "*"),
        ("a.example", "sid", "*"),
        ("a.example", "?a&b", "*"),
        ("A.example", "?sid", "*"),
        ("http://a.example", "?sid", "*"),
        ("a.example", "?sid", "shop"),
        ("a.example", "/x y/*", "*"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(host: str, ignore: str, paths: str) -> None:
    with pytest.raises(ConfigError, match="must be"):
        Rule.checked(host, ignore, paths)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]]\nhost = 'a'", "has host and ignore"),
        ("[[rule]]\nhost = 'a'\nignore = 7", "must be text"),
        ("[[rule]]\nhost = 'a'\nignore = '?x'\npath = '/'", "has host and ignore"),
        ("[rule]\nhost = 'a'", "tables"),
        ("rules = []", "tables"),
        ("rule", "rules.toml: "),
    ],
)
def test_a_file_that_cannot_be_read_is_named_in_an_error(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        of_urls.read_rules(file)
    with pytest.raises(ConfigError, match=r"rules\.toml is not there: `dedup rules --accept` makes it"):
        of_urls.read_rules(tmp_path / "missing" / "rules.toml")


@given(st.lists(st.text(max_size=30), max_size=3))
@settings(max_examples=examples(50), deadline=None)
def test_what_is_added_is_read_again_or_nothing_is_written(names: list[str]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file, rules = Path(folder) / "rules.toml", [Rule("a.example", f"?{name}") for name in names]
        try:
            of_urls.add_rules(file, [Proposal(rule, 3, 3, ()) for rule in rules])
        except (ConfigError, ValueError):
            assert not file.exists()
        else:
            assert of_urls.read_rules(file) == list(dict.fromkeys(rules))


def test_a_file_without_rules_has_none() -> None:
    assert of_urls.rules_of("# nothing yet\n") == []


def test_names_of_versions_and_of_tracking() -> None:
    names = ("oldid", "rev", "page", "V")
    assert [name for name in names if of_urls.is_version(f"?{name}")] == ["oldid", "rev"]
    one = f"{SITE}/x?id=1"
    assert is_one_address(f"{SITE}/?p=x;a=log;sid=1", f"{SITE}/?a=log;p=x")
    for other in ("utm_source=a", "fbclid=a", "PHPSESSID=a", "sid=a", "ref=b", "msclkid=1"):
        assert is_one_address(one, f"{one}&{other}")
    for other in ("page=2", "clid=1", "sort=up"):
        assert not is_one_address(one, f"{one}&{other}")
    assert is_one_address(one, f"{one}&sort=up", ("?sort",))
    assert is_one_address(one, "https://www.a.example/x?id=1")


@pytest.mark.parametrize(
    ("url", "harmless"),
    [
        ("http://a.example/news/17?page=2", True),
        ("http://a.example/logout", False),
        ("http://a.example/item/5/delete", False),
        ("http://a.example/?action=unsubscribe", False),
        ("http://a.example/warenkorb?id=3", False),
        ("http://a.example/%E9%80%80%E5%87%BA", False),
        ("http://a.example/page?token=abc", False),
        ("http://a.example/order?item=7", False),
        ("http://a.example/?action=order", False),
        ("http://a.example/page?PHPSESSID=abc&order=desc&orderby=menu_order", True),
        ("http://a.example/page?sort=p.sort_order&place_order=1", False),
        ("http://a.example/cartoons/votes-of-the-day", True),
    ],
)
def test_what_an_address_may_do(url: str, harmless: bool) -> None:
    assert of_urls.is_harmless(url) is harmless
