"""Files of pages: their formats, and adding their pages to an index; merging another index; marks."""
