"""The tools are imported from the root of the repository, where people run them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
