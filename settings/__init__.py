"""Settings of the crawler of this repository: it is polite to sites, and drops near-duplicates."""

BOT_NAME = "dedup-crawler"
SPIDER_MODULES = ["crawler.spiders"]
NEWSPIDER_MODULE = "crawler.spiders"
COMMANDS_MODULE = "crawler.commands"

USER_AGENT = "dedup-crawler (set USER_AGENT to say who you are and how to reach you)"
ROBOTSTXT_OBEY = True
# Breadth first: what is near to the start comes before what is deep in a trap.
DEPTH_PRIORITY = 1
# Scrapy would leave out longer ones without a word; the spider `site` names them (2,000 characters).
URLLENGTH_LIMIT = 0
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
CONCURRENT_REQUESTS_PER_DOMAIN = 4
# One for the item of a page, one for its links: Scrapy makes so many tasks for each page.
CONCURRENT_ITEMS = 2
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024
LOG_LEVEL = "INFO"
# Only http and https are fetched.  A private address is fetched only if it is that of a start URL, or if
# ALLOWED_PRIVATE_HOSTS has it: names with their subdomains, addresses, networks ("10.1.0.0/16").
DOWNLOAD_HANDLERS = {"data": None, "file": None, "ftp": None, "s3": None}
DOWNLOADER_MIDDLEWARES = {
    "crawler.bounds.BoundsMiddleware": 90,
    "crawler.politeness.CrawlDelayMiddleware": 95,
    "crawler.bounds.ConnectionMiddleware": 950,
}
EXTENSIONS = {"crawler.jobs.JobExtension": 0}
ALLOWED_PRIVATE_HOSTS: list[str] = []
# Both run any code for whoever has the password, which is in the log or in a file of the user.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
FEED_EXPORT_ENCODING = "utf-8"

ADDONS = {"dedup.plugin.Addon": 500}
# Each page gives one item, so the response is judged, from the tree that Scrapy parsed for the links.
DEDUP_SOURCE = "response"
DEDUP_TEXT_FIELDS = ["text"]
