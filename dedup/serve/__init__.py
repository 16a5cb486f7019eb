"""A live index in a browser, on this machine only: what a crawl drops, while it runs."""
