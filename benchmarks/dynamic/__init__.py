"""Real web programs, filled with real texts and crawled: copies kept and contents lost, by exact truth."""
