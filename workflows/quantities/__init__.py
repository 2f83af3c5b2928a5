"""Numbers and dates as they stand in a text, made comparable.

`amounts` reads numbers with their units, `dates` reads dates and periods; `figures` and `units` are
their parts. What other rooms need is named here.
"""

from workflows.quantities.amounts import (
    Quantity,
    numbers_missing,
    quantities,
    read,
    same_number,
)
from workflows.quantities.dates import Moment, apart, moments, same_moment
from workflows.quantities.units import compatible

__all__ = [
    "Moment",
    "Quantity",
    "apart",
    "compatible",
    "moments",
    "numbers_missing",
    "quantities",
    "read",
    "same_moment",
    "same_number",
]
