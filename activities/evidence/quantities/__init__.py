"""Numbers and dates as they stand in a text, made comparable.

`amounts` reads numbers with their units from `units`; `dates` reads dates and periods.
"""
