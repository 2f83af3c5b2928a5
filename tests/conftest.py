"""Settings for the whole suite."""

from __future__ import annotations

import os

from hypothesis import settings

# A deadline measures how busy the machine is, not whether a property holds. In CI the examples
# follow from the code, so that a change is judged by what it changed.
settings.register_profile("without_deadline", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("without_deadline")
