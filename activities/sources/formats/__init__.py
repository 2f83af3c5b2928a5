"""Files to text: one module per format, and what formats share. `parsing.parse` is the way in."""
