"""From bytes to pages, and from their text to tokens."""
