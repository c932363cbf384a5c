"""`python -m tidegate.cli` is `tidegate`."""

from tidegate.cli.app import main

if __name__ == "__main__":
    main()
