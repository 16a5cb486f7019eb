"""The spiders: a whole site, a sitemap, a list of URLs."""
