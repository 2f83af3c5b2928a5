"""HTML, Markdown and reStructuredText: rendered to HTML and read as blocks."""
