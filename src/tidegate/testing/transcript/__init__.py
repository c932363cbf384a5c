"""Semantics as YAML: scripts of inputs, and the outputs that must come between them.

Run them with `python -m tidegate.testing.transcript --on core|local|spark FILE_OR_FOLDER...`.
"""

from tidegate.testing.transcript.case import Case, Failure, TranscriptError, load_cases

__all__ = ["Case", "Failure", "TranscriptError", "load_cases"]
