"""Names of the months, whole and short, in English and German."""

from __future__ import annotations

_NAMES = (
    "january jan januar",
    "february feb februar",
    "march mar märz",
    "april apr",
    "may mai",
    "june jun juni",
    "july jul juli",
    "august aug",
    "september sept sep",
    "october oct oktober okt",
    "november nov",
    "december dec dezember dez",
)
MONTHS: dict[str, int] = {
    name: number for number, names in enumerate(_NAMES, 1) for name in names.split()
}
MONTH_PATTERN = "|".join(sorted(MONTHS, key=len, reverse=True))
"""For a regular expression with `re.IGNORECASE`."""
