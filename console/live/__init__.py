"""Progress of a running job on a terminal: a table that redraws itself, or plain lines."""
