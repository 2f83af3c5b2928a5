"""Build the facets that an operator adds to a plan."""

from __future__ import annotations

import re
from collections.abc import Container

from workflows.contracts.facets import Facet


def build_facet(title: str, question: str, boundary: str = "", taken: Container[str] = ()) -> Facet:
    """A facet whose id is made from its title and not `taken`. Raises pydantic's error."""
    slug = re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:58] or "facet"
    candidates = (slug, *(f"{slug}-{n}" for n in range(2, 99)))
    return Facet(
        id=next(name for name in candidates if name not in taken),
        title=title,
        question=question,
        boundary=boundary or "what the other facets cover",
        prefer="authoritative sources",
        reason="added by an operator",
    )
