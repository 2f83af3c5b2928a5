"""Settings for the whole suite."""

from __future__ import annotations

from hypothesis import settings

# A deadline measures how busy the machine is, not whether a property holds.
settings.register_profile("without_deadline", deadline=None)
settings.load_profile("without_deadline")
