"""The crawler of this repository.  It uses dedup as any other Scrapy project would."""
