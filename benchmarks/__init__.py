"""Measurements, each a command: `python -m benchmarks.NAME`. None of them is a test."""
