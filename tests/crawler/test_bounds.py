"""Where the crawler may go: crawls of two sites of this machine, one that the user named and one not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from benchmarks.endless import Answer
from crawler.bounds import BoundsMiddleware
from crawler.spiders.site import SiteSpider
from tests.crawler.crawls import HOME, Site, crawled, serving
from tests.support.pages import text

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SECRET = f"<p>{text(2)}</p>"


@pytest.fixture
def inner() -> Iterator[Site]:
    """A service on this machine that nobody named to the crawler."""
    with serving(Site({"/secret": [(200, {}, SECRET)], "/": [(200, {}, SECRET)]}), "127.0.0.2") as site:
        yield site


@pytest.fixture
def outer() -> Iterator[Site]:
    with serving(Site({"/": [(200, {}, HOME)]})) as site:
        yield site


def found(answer: str) -> Answer:
    return 302, {"Location": answer}, ""


def listed(folder: Path, *urls: str) -> str:
    path = folder / "urls.txt"
    path.write_text("\n".join(urls))
    return f"file={path}"


def named(**hosts: str) -> dict[str, str]:
    """Return settings with which names resolve to these addresses, in turn; _ stands for a dot."""
    dotted = json.dumps({name.replace("_", "."): addresses for name, addresses in hosts.items()})
    return {"TEST_HOSTS": dotted, "TWISTED_DNS_RESOLVER": "tests.crawler.crawls.FakeResolver"}


@pytest.mark.parametrize("allowed", [True, False])
def test_a_redirect_to_a_private_address_is_followed_only_where_allowed(
    tmp_path: Path, outer: Site, inner: Site, allowed: bool
) -> None:
    outer.answers["/there"] = [found(f"{inner.url}/secret")]
    settings = {"ALLOWED_PRIVATE_HOSTS": "127.0.0.2"} if allowed else {}
    asked = listed(tmp_path, f"{outer.url}/", f"{outer.url}/there")
    urls, log, _ = crawled(tmp_path, "urls", asked, **settings)
    assert urls == {f"{outer.url}/", *([f"{inner.url}/secret"] if allowed else [])}
    assert ("/secret" in inner.asked, "'bounds/private'" in log) == (allowed, not allowed)


def test_a_paused_job_goes_on_where_the_user_named_the_host(tmp_path: Path, outer: Site) -> None:
    paths = [f"/{number}" for number in range(12)]
    outer.answers["/"] = [(200, {}, HOME + "".join(f"<a href='{path}'>on</a>" for path in paths))]
    outer.answers |= {path: [(200, {}, f"<p>{text(10 + int(path[1:]))}</p>")] for path in paths}
    options = ("site", f"url={outer.url}/")
    job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": "1"}
    # The second pause shows that what a job was told once it still knows later.
    crawls = [crawled(tmp_path, *options, **job, CLOSESPIDER_ITEMCOUNT=most)[0] for most in "110"]
    assert all(crawls)
    assert set().union(*crawls) == {f"{outer.url}/", *(outer.url + path for path in paths)}


@pytest.mark.parametrize("allowed", ["", "inner.site.test"])
def test_a_name_inside_the_domain_may_not_resolve_to_a_private_address(
    tmp_path: Path, outer: Site, inner: Site, allowed: str
) -> None:
    secret = f"http://inner.site.test:{inner.port}/secret"
    outer.answers["/"] = [(200, {}, HOME + f"<a href='{secret}'>there</a>")]
    home = f"http://site.test:{outer.port}/"
    settings = named(site_test="127.0.0.1", inner_site_test="127.0.0.2")
    urls, log, _ = crawled(tmp_path, "site", f"url={home}", ALLOWED_PRIVATE_HOSTS=allowed, **settings)
    assert urls == {home, *([secret] if allowed else [])}
    assert bool(inner.asked) == bool(allowed)
    # Nothing is tried again: it would be refused again.
    assert "Retrying" not in log
    assert ("is private and not in ALLOWED_PRIVATE_HOSTS" in log) == (not allowed)


def test_a_name_is_held_to_the_address_connected_to(tmp_path: Path, outer: Site, inner: Site) -> None:
    # Public for whoever looks first, private for whoever looks again: no look-up is trusted for another.
    secret = f"http://rebound.site.test:{inner.port}/secret"
    outer.answers["/"] = [(200, {}, HOME + f"<a href='{secret}'>there</a>")]
    settings = named(site_test="127.0.0.1", rebound_site_test="192.0.2.1 127.0.0.2")
    settings["DOWNLOAD_TIMEOUT"] = "2"
    urls, *_ = crawled(tmp_path, "site", f"url=http://site.test:{outer.port}/", **settings)
    assert (len(urls), inner.asked) == (1, [])


@pytest.mark.parametrize("domains", ["", "elsewhere.test"])
def test_a_redirect_out_of_the_domains_is_followed_only_where_allowed(
    tmp_path: Path, outer: Site, inner: Site, domains: str
) -> None:
    ways = ("redirect", "again", "refresh")
    targets = {way: f"http://elsewhere.test:{inner.port}/{way}" for way in ways}
    links = "".join(f"<a href='/{way}'>away</a>" for way in ways)
    inner.answers |= {f"/{way}": [(200, {}, f"<p>{text(len(way))}</p>")] for way in ways}
    outer.answers |= {
        "/": [(200, {}, HOME + links)],
        "/redirect": [found(targets["redirect"])],
        # What is tried again has dont_filter, and so has where it is redirected.
        "/again": [(503, {}, ""), found(targets["again"])],
        "/refresh": [(200, {}, f"<meta http-equiv='refresh' content='0; url={targets['refresh']}'>")],
    }
    settings = {"ALLOWED_PRIVATE_HOSTS": "elsewhere.test"} | named(elsewhere_test="127.0.0.2")
    options = ("site", f"url={outer.url}/", f"domains={domains}")
    urls, *_ = crawled(tmp_path, *options, **settings)
    assert urls == {f"{outer.url}/", *(targets.values() if domains else ())}
    asked = {path for path in inner.asked if path in inner.answers or path == "/robots.txt"}
    assert asked == ({"/robots.txt", *(f"/{way}" for way in ways)} if domains else set())
    assert bool(inner.asked) is bool(domains)


def test_sitemaps_lead_to_no_file_and_out_of_no_domain(tmp_path: Path, outer: Site, inner: Site) -> None:
    (file := tmp_path / "secret.html").write_text(SECRET)
    odd = ("not a url", f"file://{file}", "ftp://127.0.0.1/x", "data:text/html,x", f"{inner.url}/secret")
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in (*odd, f"{outer.url}/"))
    urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    robots = f"Sitemap: file://{file}\nSitemap: {outer.url}/map.xml\n"
    outer.answers["/robots.txt"] = [(200, {"Content-Type": "text/plain"}, robots)]
    outer.answers["/map.xml"] = [(200, {"Content-Type": "application/xml"}, urlset)]
    urls, *_ = crawled(tmp_path, "sitemap", f"url={outer.url}")
    assert (urls, inner.asked) == ({f"{outer.url}/"}, [])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.test/x", "s3://a/b", "data:,x"])
def test_nothing_but_the_web_is_fetched(url: str) -> None:
    crawler = get_crawler(SiteSpider)
    crawler.spider = SiteSpider(url="http://a.test/")
    crawler.stats = StatsCollector(crawler)
    with pytest.raises(IgnoreRequest, match="are not fetched"):
        BoundsMiddleware(crawler).process_request(Request(url, dont_filter=True))
    assert crawler.stats.get_value("bounds/scheme") == 1


def test_robots_txt_is_never_taken_from_private_places(tmp_path: Path, outer: Site, inner: Site) -> None:
    outer.answers["/robots.txt"] = [found(f"{inner.url}/secret")]
    urls, *_ = crawled(tmp_path, "urls", listed(tmp_path, f"{outer.url}/"))
    assert (urls, inner.asked) == ({f"{outer.url}/"}, [])


def test_what_a_proxy_is_asked_for_is_held_to_addresses_that_are_written_out(
    tmp_path: Path, outer: Site, inner: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The named site plays the proxy, which is asked for whole URLs.
    away = "http://page.test/away"
    outer.answers = {away: [found("http://127.2/secret")], "http://page.test/": [(200, {}, HOME)]}
    monkeypatch.setenv("http_proxy", outer.url)
    urls, log, _ = crawled(tmp_path, "urls", listed(tmp_path, "http://page.test/", away))
    assert urls == {"http://page.test/"}
    assert away in outer.asked
    assert "http://127.2/secret" not in outer.asked
    assert "'bounds/private'" in log
