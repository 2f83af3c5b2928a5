"""PDF files: lines on pages put together to paragraphs, headings and tables."""
