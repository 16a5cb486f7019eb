"""What rules take out of URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.urls.edits import Edit, Form, edits_of
from dedup.urls.names import clean_params, is_known
from dedup.urls.parts import parts_of, patterns_for, patterns_of
from dedup.urls.rule import Rule

SEGMENT = st.sampled_from(
    [
        "a",
        "B",
        "x.php",
        "print",
        "amp",
        "index.html",
        "12",
        "",
        "x;jsessionid=1",
        "x;s=2;t=3",
        "deadbeef0",
    ]
)
URLS = st.builds(
    lambda scheme, host, path, query: (
        f"{scheme}://{host}/{'/'.join(path)}{'?' if query else ''}{'&'.join(query)}"
    ),
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        ["a.example", "www.a.example", "www.www.a.example", "m.a.example", "a.example:8080"]
    ),
    st.lists(SEGMENT, max_size=4),
    st.lists(
        st.sampled_from(["a=1", "a=2", "b", "sid=", "=", "a=b=c", "&", "d=1;e=2", "id=x", "id=x.php"]),
        max_size=4,
    ),
)


@given(st.one_of(URLS, st.text(), st.text().map(lambda text: f"http://{text}")))
def test_parsing_never_raises_and_every_edit_changes_something_once(url: str) -> None:
    parts = parts_of(url)
    if parts is None:
        return
    edits = list(edits_of(parts))
    assert len(set(edits)) == len(edits)
    for edit in edits:
        once = edit.applied(parts)
        assert once != parts, edit
        assert edit.applied(once) == once, edit
        assert once.path.startswith("/")
        assert edit.words.isprintable()
        for other in edits:  # the order in which rules act does not matter
            if {edit.form, other.form} <= {Form.PARAMETER, Form.PATH_PARAMETER, Form.ALIAS, Form.SCHEME}:
                assert other.applied(once) == edit.applied(other.applied(parts))


@given(URLS)
def test_the_text_of_parts_has_the_same_parts(url: str) -> None:
    parts = parts_of(url)
    assert parts
    assert parts_of(parts.text) == parts


@pytest.mark.parametrize(
    ("url", "form", "name", "left"),
    [
        ("http://a.example/p?b=1&sid=2", Form.PARAMETER, "sid", "http://a.example/p?b=1"),
        ("http://a.example/p?start=0", Form.VALUE, "start", "http://a.example/p"),
        (
            "http://a.example/index.php?title=Page&a=1",
            Form.TITLE,
            "title",
            "http://a.example/index.php/Page?a=1",
        ),
        ("http://a.example/x?hb=2&h=1", Form.REPEATED, "h", "http://a.example/x?hb=2"),
        ("http://a.example/doku.php?id=wiki:x", Form.TITLE, "id", "http://a.example/doku.php/wiki:x"),
        (
            "http://a.example/p;jsessionid=A1?x=1",
            Form.PATH_PARAMETER,
            "jsessionid",
            "http://a.example/p?x=1",
        ),
        ("http://a.example/p/index.html", Form.INDEX, "index.html", "http://a.example/p/"),
        ("http://a.example/p/", Form.SLASH, "", "http://a.example/p"),
        ("http://a.example/P", Form.CASE, "", "http://a.example/p"),
        ("http://a.example/print/p", Form.VIEW, "print", "http://a.example/p"),
        ("http://a.example/p/amp", Form.VIEW, "amp", "http://a.example/p"),
        ("http://www.a.example/p", Form.ALIAS, "www", "http://a.example/p"),
        ("http://m.a.example/p", Form.ALIAS, "m", "http://a.example/p"),
        ("http://a.example/p", Form.SCHEME, "", "https://a.example/p"),
    ],
)
def test_forms(url: str, form: Form, name: str, left: str) -> None:
    parts = parts_of(url)
    assert parts
    edit = next(edit for edit in edits_of(parts) if (edit.form, edit.name) == (form, name))
    assert edit.applied(parts) == parts_of(left)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/b",
        "data:,x",
        "http:///x",
        "http://me:pw@a/",
        "",
        "http://a/#!x",
        "http://a/" + "x" * 3000,
    ],
)
def test_no_rule_is_for(url: str) -> None:
    assert parts_of(url) is None


def test_patterns() -> None:
    assert patterns_of("/") == ("*", "/")
    assert patterns_of("/blob/0123abcdef/x7") == ("*", "/blob/*", "/blob/#/*", "/blob/#/x#")
    assert patterns_of("/a*/b/c/d/e") == ("*", "/a%#A/*", "/a%#A/b/*", "/a%#A/b/c/*", "/a%#A/b/c/d/e")


def test_names() -> None:
    assert is_known(Edit(Form.PARAMETER, "UTM_Source"))
    assert is_known(Edit(Form.PATH_PARAMETER, "jsessionid"))
    assert not is_known(Edit(Form.PARAMETER, "id"))
    assert clean_params("User-agent: *\nClean-param: a&b /x*\nclean-param:c # all") == [
        (Edit(Form.PARAMETER, "a"), "/x"),
        (Edit(Form.PARAMETER, "b"), "/x"),
        (Edit(Form.PARAMETER, "c"), "/"),
    ]


def test_a_rule_has_one_name_and_hostile_ones_are_shown_safely() -> None:
    rule = Rule("a.example", Edit(Form.PARAMETER, "sid"))
    assert len(rule.id) == 12
    assert Rule("a.example", Edit(Form.PARAMETER, "sid"), "/a/*").id != rule.id
    assert "\x1b" not in Rule("a.example", Edit(Form.PARAMETER, "\x1b[31m")).words


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("do=index&id=a", "do=index"),
        ("id=a&do=index&act=show", "act=show&do=index"),
        ("do=3", ""),
        ("title=Special%3ALog/x&page=y", "title=Special%3ALog"),
        ("title=Main_Page", ""),
        ("sid=abc", ""),
    ],
)
def test_a_kind_of_page_that_a_query_names_is_a_pattern_of_its_own(query: str, kind: str) -> None:
    parts = parts_of(f"http://a.example/x.php?{query}")
    assert parts
    assert patterns_for(parts) == ("*", "/x.php", *([f"/x.php?{kind}"] if kind else []))
