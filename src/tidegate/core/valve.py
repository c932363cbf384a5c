"""The valve under the name that users import: `tidegate.core.valve.StatusWatermarkValve`."""

from tidegate.core.watermark.valve import StatusWatermarkValve

__all__ = ["StatusWatermarkValve"]
