"""Word, PowerPoint and Excel files."""
