"""Lists of several pages: each row once, whatever the pages, ranges and interruptions are."""
