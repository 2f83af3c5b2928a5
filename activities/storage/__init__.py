"""What outlives a process: the object store, its encryption and the turn journal."""
