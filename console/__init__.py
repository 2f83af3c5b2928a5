"""The command line, the web console and the runtime they share with the workers.

The console imports `workflows` and nothing of `activities`: everything it shows comes from the
Temporal server and the store, so it works from any machine.
"""
