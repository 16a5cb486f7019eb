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
FEED_EXPORT_ENCODING = "utf-8"

ADDONS = {"dedup.plugin.Addon": 500}
# One item a page: the response is judged, from the tree that Scrapy parsed for the links.
DEDUP_SOURCE = "response"
DEDUP_TEXT_FIELDS = ["text"]
