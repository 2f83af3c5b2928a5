"""A strict simulator of the Messages API, for tests and demonstrations without a network."""
