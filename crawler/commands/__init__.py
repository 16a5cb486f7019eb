"""Commands of this project, in addition to those of Scrapy."""
