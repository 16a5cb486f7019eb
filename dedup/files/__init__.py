"""Pages in files: feeds that are judged, indexes that are merged, outputs."""
