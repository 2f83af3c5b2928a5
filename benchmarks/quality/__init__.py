"""Quality by the numbers: `python -m benchmarks.quality [SET …]`, or `make bench-quality` for all.

A set is a module with one class: a name, its measures, its cases, and how one case is run. What
comes out of a case is kept as JSON, so a run that was broken off goes on, and two runs can be held
side by side. `--help` says the rest.
"""
