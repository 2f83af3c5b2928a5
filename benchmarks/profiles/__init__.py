"""Where the time goes: in a job, in the worker at load, in start-up."""
