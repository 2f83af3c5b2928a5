"""Documents and web pages: parsed, indexed, searched, read and kept. `Corpus` is the way in."""
