"""Settings of our crawler: polite to the sites, and near-duplicates are dropped."""

BOT_NAME = "dedup-crawler"
SPIDER_MODULES = ["crawler.spiders"]
NEWSPIDER_MODULE = "crawler.spiders"
COMMANDS_MODULE = "crawler.commands"

USER_AGENT = "dedup-crawler (set USER_AGENT to say who you are and how to reach you)"
ROBOTSTXT_OBEY = True
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
CONCURRENT_REQUESTS_PER_DOMAIN = 4
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024
LOG_LEVEL = "INFO"
# Nothing but the web is fetched, and no private address that the user did not name himself, as a
# start URL or here: names with their subdomains, addresses, networks ("10.1.0.0/16").
DOWNLOAD_HANDLERS = {"data": None, "file": None, "ftp": None, "s3": None}
DOWNLOADER_MIDDLEWARES = {
    "crawler.bounds.BoundsMiddleware": 90,
    "crawler.bounds.ConnectionMiddleware": 950,
}
ALLOWED_PRIVATE_HOSTS: list[str] = []
# Each runs any code for whoever has its password, from the log or a file of the user.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
FEED_EXPORT_ENCODING = "utf-8"

ADDONS = {"dedup.plugin.Addon": 500}
# One item a page: the response is judged, from the tree that Scrapy parsed for the links.
DEDUP_SOURCE = "response"
DEDUP_TEXT_FIELDS = ["text"]
