"""Everything deterministic: the workflows and the pure domain they compute on.

No I/O, no clock, no randomness, nothing from `activities` or `console`. Other teams import
`workflows.contracts` to trigger research.
"""
