"""The workflows, and the contracts, rules and settings they are made of.

Nothing here does I/O, reads a clock or imports `activities` or `console`. Other teams import
`workflows.contracts` to start research.
"""
