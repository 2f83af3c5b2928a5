"""Engines side by side: one topology, one stub model, and what coordination costs in each."""
