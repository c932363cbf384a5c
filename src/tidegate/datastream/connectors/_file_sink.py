"""`FileSink` under PyFlink's names: builders onto Tidegate's own."""

from __future__ import annotations

import time
from typing import Any, NoReturn, Self

from tidegate.common.serialization import Encoder
from tidegate.core.operator.sink import SinkContext
from tidegate.core.time.millis import MIN_TIME
from tidegate.datastream import file_sink
from tidegate.datastream.connectors._file_buckets import BucketAssigner, BucketContext
from tidegate.datastream.connectors._local_paths import as_local_path
from tidegate.datastream.connectors._output_files import OutputFileConfig, RollingPolicy
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError


class FileSink(file_sink.FileSink):
    """Writes elements to part files in a folder. Build it with PyFlink's `for_row_format`, or construct it.

    A part is hidden while it is written and takes its name when its batch is complete: on Spark with every
    micro-batch, in process at the end of the run. What a failed run has written goes. With `for_row_format` the
    folders below that of the sink are hours of the clock, as in Flink, unless a bucket assigner says otherwise.
    """

    def write(self, value: Any, context: SinkContext) -> None:
        if isinstance(self._bucket, _Bucket):
            self._bucket.context = context
        super().write(value, context)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """One element after the other, each as the encoder gives it: `Encoder.simple_string_encoder()` for lines."""
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> NoReturn:
        raise UnsupportedError("for_bulk_format: files are written by rows; use for_row_format with an Encoder")

    class BaseBuilder:
        """What all builders of file sinks share."""

        def __init__(self, base_path: str, encoder: Encoder) -> None:
            if not isinstance(encoder, Encoder):
                raise InvalidTypeError(
                    f"FileSink: expected an Encoder such as Encoder.simple_string_encoder(), got {encoder!r}"
                )
            self._base_path = as_local_path(base_path, "FileSink")
            self._encoder = encoder
            self._bucket_assigner = BucketAssigner.date_time_bucket_assigner()
            self._file_config = OutputFileConfig.builder().build()

        def with_bucket_check_interval(self, interval: int) -> Self:
            """Accepted for Flink's sake: a part file ends with its micro-batch, in process with the run."""
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Accepted for Flink's sake: a part file ends with its micro-batch, in process with the run."""
            if not isinstance(rolling_policy, RollingPolicy):
                raise InvalidTypeError(f"FileSink: expected a RollingPolicy, got {rolling_policy!r}")
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            """The folder of each element."""
            if not isinstance(bucket_assigner, BucketAssigner):
                raise InvalidTypeError(f"FileSink: expected a BucketAssigner, got {bucket_assigner!r}")
            self._bucket_assigner = bucket_assigner
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """What the files are called."""
            if not isinstance(output_file_config, OutputFileConfig):
                raise InvalidTypeError(f"FileSink: expected an OutputFileConfig, got {output_file_config!r}")
            self._file_config = output_file_config
            return self

        def enable_compact(self, strategy: Any, compactor: Any) -> NoReturn:
            raise UnsupportedError("enable_compact: files are not compacted")

        def disable_compact(self) -> Self:
            """Accepted for Flink's sake: files are never compacted."""
            return self

        def build(self) -> FileSink:
            if self._base_path.exists() and not self._base_path.is_dir():
                raise InvalidValueError(f"FileSink: {self._base_path} is a file; give the path of a folder")
            return FileSink(
                self._base_path,
                self._encoder.encode,
                bucket=_Bucket(self._bucket_assigner),
                prefix=self._file_config.part_prefix,
                suffix=self._file_config.part_suffix,
            )

    class RowFormatBuilder(BaseBuilder):
        """Get one with `FileSink.for_row_format(...)`, then `build()`."""


class StreamingFileSink(FileSink):
    """The older name of `FileSink`, for `add_sink`."""

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:  # type: ignore[override]
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, encoder)

    class BaseBuilder(FileSink.BaseBuilder):
        """What all builders of the older sink share."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            """Accepted for Flink's sake: a part file ends with its micro-batch, in process with the run."""
            return super().with_rolling_policy(policy)

    class DefaultRowFormatBuilder(BaseBuilder):
        """Get one with `StreamingFileSink.for_row_format(...)`, then `build()`."""


class _Bucket:
    """A bucket assigner as the function of an element that file sinks take."""

    def __init__(self, assigner: BucketAssigner) -> None:
        self._assigner = assigner
        self.context = SinkContext(None, MIN_TIME)

    def __call__(self, value: Any) -> str:
        now = time.time_ns() // 1_000_000
        context = BucketContext(now, self.context.record_timestamp, self.context.current_watermark)
        return self._assigner.get_bucket_id(value, context)
