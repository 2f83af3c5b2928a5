"""The console in a browser: the same actions as the commands, through the same client."""
