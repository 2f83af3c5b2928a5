"""Jobs on a Temporal server: start, query, update, watch. Nothing in this package prints."""
