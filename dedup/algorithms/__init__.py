"""Algorithms of the literature that no crawl needs; each can be named in ``DEDUP_RECIPE`` by its path.

For instance ``"default,terms=dedup.algorithms.terms.unicode_words"``: then it is a function of your own.
"""
