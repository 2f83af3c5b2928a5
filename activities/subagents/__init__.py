"""The activities of the roles: what each subagent is told and what its answer becomes."""
