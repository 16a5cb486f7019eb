"""Rules for URLs: which part of a URL does not matter, learned from pages that were judged.  Pure."""
