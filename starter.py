"""The command line from a checkout: `python starter.py run "…" --corpus DIR`."""

from console.cli.app import main

if __name__ == "__main__":
    main()
