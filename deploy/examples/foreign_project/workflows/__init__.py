"""This team's own workflows; durable-research has a package of the same name elsewhere."""
