"""The command line: `tidegate run`, `plan`, `doctor` and `demo`, one file each."""
