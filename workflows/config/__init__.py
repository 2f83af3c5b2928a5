"""Tables and settings: roles, models, policies, store keys, environment settings."""
