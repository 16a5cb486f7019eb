"""Archives of any size, deduplicated on Apache Spark by the same rule as a crawl."""
