"""Local documents: parsed, indexed, searched and read."""
