"""Everything that touches the world: subagents, models, sources, storage."""
