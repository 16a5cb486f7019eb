"""Pages in files: feeds that are judged, indexes that are exported and imported, outputs."""
