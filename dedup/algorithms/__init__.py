"""SimHash, sketches, and what is hashed; `literature` has what a crawl does not use.  Pure."""
