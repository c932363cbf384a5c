"""Where things are in the folder of a checkpoint."""

from __future__ import annotations

from typing import Final

QUERY: Final = "query"
"""The query's own checkpoint, which Spark writes."""
SPOOL: Final = "spool"
"""What the driver feeds to the query."""
BATCHES: Final = "batches"
"""Results on their way to a client of Spark Connect."""
SINKS_STATE: Final = "sinks.state"
PROGRAM: Final = "program.json"
RESCALED: Final = "rescaled"
"""What a rescale has left for the first batch behind it."""
