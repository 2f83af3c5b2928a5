"""Numbers and dates as they stand in a text, made comparable.

`amounts` reads numbers with their units, `dates` reads dates and periods; `figures` and `units` are
their parts. What other rooms need is named here.
"""

from activities.evidence.quantities.amounts import (
    Quantity,
    numbers_missing,
    quantities,
    read,
    same_number,
)
from activities.evidence.quantities.dates import Moment, apart, moments, same_moment
from activities.evidence.quantities.units import compatible

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
