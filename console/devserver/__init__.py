"""The embedded Temporal server and its worker, both child processes of a command."""
