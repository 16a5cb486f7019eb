"""SimHash and sketches; `literature` has what a crawl does not use.  Pure."""
