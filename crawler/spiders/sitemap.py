"""Crawl the pages that sitemaps list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy.http import Response
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.items import PageItem
from crawler.page_spider import PageSpider, read_urls

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".txt")


class SitemapSpider(PageSpider, ScrapySitemapSpider):
    """Take the pages that sitemaps list.

    -a url=   sitemaps, robots.txt files or sites, separated by white space; of a site, the
              sitemaps that its robots.txt names
    -a html=1 keep the source of each page in its item
    """

    name = "sitemap"

    def __init__(self, *, url: str = "", **kwargs: Any) -> None:
        self.sitemap_urls = [_sitemap(start) for start in read_urls("url", url)]
        super().__init__(**kwargs)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[PageItem]:
        return self.parse_page(response)


def _sitemap(url: str) -> str:
    is_sitemap = urlsplit(url).path.lower().endswith(_SITEMAP_ENDINGS)
    return url if is_sitemap else urljoin(url, "/robots.txt")
