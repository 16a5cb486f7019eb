import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from dedup.model.urls import _IS_CANONICAL, MAX_URL, bounded_url, host_of, url_key, valid


@given(st.from_regex(_IS_CANONICAL, fullmatch=True))
@example("http://a:80/")
@example("http://a.b-c/x//y.z")
@example("http://1.2.3.4:8080/~me/-_.html")
@example("http://xn--a/")
@example("file:///a//b~c/-_d.html")
def test_what_is_taken_for_canonical_is(url: str) -> None:
    assert url_key(url) == canonicalize_url(url) == url


@given(st.text(alphabet="htps:/.abA%?&=#;01~-_ é\\[]@", max_size=30))
@example("http://a.b")
@example("HTTP://A/")
@example("http://a/%7e")
@example("http://a//?")
@example("a/./x/../y//z")
@example("..x")
def test_others_get_the_form_of_w3lib(rest: str) -> None:
    for url in (rest, f"http://{rest}", f"http://host/{rest}"):
        try:
            expected = canonicalize_url(url) if url else ""
        except ValueError:
            expected = url
        assert url_key(url) == expected


@given(
    st.text(max_size=50)
    | st.builds(
        lambda text, times: text * times,
        st.text("ab/?=&é\ud800", min_size=5),
        st.integers(MAX_URL // 11, MAX_URL // 9),
    )
)
def test_a_bounded_url_is_short_valid_and_kept_as_it_is(url: str) -> None:
    bounded = bounded_url(url)
    assert valid(bounded) == bounded
    assert bounded_url(bounded) == bounded
    assert len(bounded) <= MAX_URL
    assert valid(url_key(url)) == url_key(url)
    if len(valid(url)) <= MAX_URL:
        assert bounded == valid(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://WWW.Example.com:8080/a?b#c", "www.example.com"),
        ("http://me:p@ss@Example.com:80", "example.com"),
        ("http://[::1]:80/", "::1"),
        ("http://BÜCHER.example/", "bücher.example"),
        ("http://[bad/", ""),
        ("http://a\u2100b/", ""),  # with a slash in its normal form
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


SECRETS = st.text("abcXYZ019-._~!$&'()*+,;=:%@", max_size=12)


@given(SECRETS, SECRETS, st.sampled_from(["Host.example", "host.example:81", "[::1]"]))
def test_a_host_has_no_user_name_and_no_password(user: str, password: str, place: str) -> None:
    assert host_of(f"http://{user}:{password}@{place}/") == host_of(f"http://{place}/")


def test_long_urls_with_one_beginning_stay_different() -> None:
    urls = ["http://a/?" + "b" * MAX_URL + end for end in "123"]
    keys = {url_key(url) for url in urls}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {MAX_URL}
    assert {url_key(key) for key in keys} == keys
