"""Algorithms of the literature as pure functions; a crawl uses some of them, and nobody chooses."""
