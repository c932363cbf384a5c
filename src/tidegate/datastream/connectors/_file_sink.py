"""`FileSink`: a stream as files, exactly once; with PyFlink's builders."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

from tidegate.common.serialization import Encoder
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.operator.two_phase_sink import SinkWriter, TwoPhaseSink
from tidegate.datastream.connectors._file_buckets import BucketAssigner, BucketContext
from tidegate.datastream.connectors._local_paths import as_local_path
from tidegate.datastream.connectors._output_files import OutputFileConfig, RollingPolicy
from tidegate.datastream.file_sink import Bucket, FileCommitter, FileWriter
from tidegate.datastream.part_contents import SUFFIXES, Encode
from tidegate.datastream.part_files import PartNames
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError


class FileSink(TwoPhaseSink):
    """Writes elements to part files below `path`; on Spark exactly once.

    `file_format` is `"text"` (a line of `str(value)` each), `"json"` (a line of JSON each), `"csv"` (with a line of
    names), `"parquet"`, or a function from an element to its bytes. `bucket` chooses a folder below `path` for an
    element. PyFlink's way to build one is `for_row_format`.

    Every subtask writes its own elements, where it runs, to a file that is hidden until its batch is complete: on
    Spark with every micro-batch, in process at the end of the run. Readers see only whole files. A batch that comes
    again after a crash is not written again. A job that goes on from an older copy of its checkpoint takes back what it
    has written since. A new job writes beside what is there. Driver and workers must see the same folder.

    >>> sink = FileSink("/data/orders", "json", bucket=lambda order: f"country={order['country']}")
    """

    def __init__(
        self,
        path: str | Path,
        file_format: Literal["text", "json", "csv", "parquet"] | Encode = "text",
        *,
        bucket: Callable[[Any], str] | None = None,
        prefix: str = "part",
        suffix: str | None = None,
    ) -> None:
        if not callable(file_format) and file_format not in SUFFIXES:
            raise InvalidValueError(
                f"FileSink: file_format is one of {', '.join(map(repr, SUFFIXES))} or a function from an element to "
                f"bytes, got {file_format!r}"
            )
        if "://" in str(path):
            raise InvalidValueError(
                f"FileSink: {str(path)!r} is not a folder of this machine; mount it, or write with Spark's own sinks "
                "behind to_dataframe"
            )
        if suffix is None:
            suffix = "" if callable(file_format) else SUFFIXES[file_format]
        self._names = PartNames(Path(path), prefix, suffix)
        self._format = file_format
        self._bucket: Bucket | None = None if bucket is None else _WithoutContext(bucket)

    def create_writer(self) -> SinkWriter:
        return FileWriter(self._names, self._format, self._bucket)

    def create_committer(self) -> Sink:
        return FileCommitter(self._names)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """One element after the other, each as the encoder gives it: `Encoder.simple_string_encoder()` for lines.

        The folders below that of the sink are hours of the clock, as in Flink, unless a bucket assigner says otherwise.
        """
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> NoReturn:
        raise UnsupportedError(
            'for_bulk_format: writer factories are Java classes; FileSink(path, "parquet") writes parquet files'
        )

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
            config = self._file_config
            sink = FileSink(self._base_path, self._encoder.encode, prefix=config.part_prefix, suffix=config.part_suffix)
            sink._bucket = _Bucket(self._bucket_assigner)
            return sink

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


class _WithoutContext:
    """A function of an element as one that learns its time too."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def __call__(self, value: Any, context: SinkContext) -> str:
        return self._function(value)


class _Bucket:
    """A bucket assigner as the function that file sinks take."""

    def __init__(self, assigner: BucketAssigner) -> None:
        self._assigner = assigner

    def __call__(self, value: Any, context: SinkContext) -> str:
        now = time.time_ns() // 1_000_000
        return self._assigner.get_bucket_id(
            value, BucketContext(now, context.record_timestamp, context.current_watermark)
        )
