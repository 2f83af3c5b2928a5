"""What works at the endpoint that the environment names: `make test-live`."""
