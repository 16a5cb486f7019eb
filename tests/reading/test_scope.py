from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.reading.page import scope_key

LABELS = st.from_regex(r"[a-z][a-z0-9]{5,8}", fullmatch=True).map(lambda name: f"site-{name}")
URL = "http://me:secret@WWW.a.example.com:8080/x"


@pytest.mark.parametrize(
    ("scope", "key"),
    [("spider", "news"), ("host", "www.a.example.com"), ("domain", "example.com"), ("global", "")],
)
def test_the_group_of_each_scope(scope: str, key: str) -> None:
    assert scope_key(scope, spider="news", url=URL) == key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a.example.com", "b.example.com", True),
        ("example.co.uk", "www.example.co.uk", True),
        ("one.co.uk", "two.co.uk", False),
        ("alice.github.io", "evil.github.io", False),
        ("alice.github.io", "www.alice.github.io", True),
        ("alice.github.io", "github.io", False),
        ("alice.blogspot.com", "evil.blogspot.com", False),
        ("127.0.0.1", "127.0.0.2", False),
        ("localhost", "localhost", True),
    ],
)
def test_a_domain_is_what_one_owner_has(one: str, other: str, same: bool) -> None:
    first, second = (
        scope_key("domain", spider="", url=f"http://{host}:8080/a") for host in (one, other)
    )
    assert (first == second) == same


@given(
    st.sampled_from(["github.io", "co.uk", "example.com", "s3.amazonaws.com"]), LABELS, LABELS, LABELS
)
def test_a_domain_has_its_subdomains_and_no_neighbours(
    suffix: str, one: str, other: str, below: str
) -> None:
    mine, inner, near = (
        scope_key("domain", spider="", url=f"http://{host}/")
        for host in (f"{one}.{suffix}", f"{below}.{one}.{suffix}", f"{other}.{suffix}")
    )
    assert mine == inner
    assert (mine == near) == (one == other or suffix == "example.com")
