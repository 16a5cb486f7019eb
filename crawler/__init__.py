"""Our own crawler; it uses dedup as any other Scrapy project would."""
