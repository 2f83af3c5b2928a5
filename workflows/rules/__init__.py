"""Pure decisions over the state of a job: no I/O, no clock, no Temporal calls."""
