"""The stages of a job: which activities they call, with which timeouts and retry policies."""
