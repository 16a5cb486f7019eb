"""Archives of any size, deduplicated on Apache Spark by the same rule as a crawl.

The steps (`prints`, `bands`, `pairs`, ...) take Arrow batches and give Arrow batches; they know no
engine.  `flow` is the only place that has them run on Spark, `plain` runs them one after the other.
"""
