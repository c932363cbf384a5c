"""Text files as sources and sinks, under PyFlink's names."""

import bz2
import datetime
import gzip
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tidegate.common import Encoder, Types, WatermarkStrategy
from tidegate.datastream import DataStream, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import (
    BucketAssigner,
    BucketContext,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError, UserCodeError


def lines(*paths: Any, charset: str = "UTF-8") -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(charset), *map(str, paths))
        .process_static_file_set()
        .set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
        .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        .build()
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(source=source, watermark_strategy=strategy, source_name="lines")


def read(*paths: Any, charset: str = "UTF-8") -> list[str]:
    return list(lines(*paths, charset=charset).execute_and_collect())


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"one\r\ntwo\n\nthree")
    assert read(file) == ["one", "two", "", "three"]
    assert read(file.as_uri()) == ["one", "two", "", "three"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second\n")
    (tmp_path / "a.txt").write_text("first\n")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "z.txt").write_text("third\n")
    (tmp_path / ".hidden").write_text("no\n")
    (tmp_path / "_SUCCESS").write_text("no\n")
    assert read(tmp_path) == ["first", "second", "third"]


def test_every_path_is_a_channel(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{name} 1\n{name} 2\n")
    assert sorted(read(tmp_path / "a.txt", tmp_path / "b.txt")) == ["a.txt 1", "a.txt 2", "b.txt 1", "b.txt 2"]
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    ).build()
    assert source.channels() == (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert source.is_bounded


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_files_are_unpacked(tmp_path: Path, suffix: str, pack: Any) -> None:
    file = tmp_path / f"words{suffix}"
    file.write_bytes(pack(b"one\ntwo\n"))
    assert read(file) == ["one", "two"]


def test_text_is_read_in_its_charset(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes("café\n".encode("latin-1"))
    assert read(file, charset="ISO-8859-1") == ["café"]
    assert read(file) == ["caf\ufffd"]
    with pytest.raises(InvalidValueError, match="text_line_format: unknown charset 'UTF-99'"):
        StreamFormat.text_line_format("UTF-99")


class Numbers(StreamFormat):
    """Numbers of four bytes."""

    def read(self, stream: IO[bytes]) -> Iterator[int]:
        while data := stream.read(4):
            yield int.from_bytes(data, "big")


def test_a_user_may_write_a_format(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(b"\0\0\0\5\0\0\1\0")
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(Numbers(), str(file)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    assert list(stream.execute_and_collect()) == [5, 256]


def test_files_that_cannot_be_read_are_refused_when_the_source_is_built(tmp_path: Path) -> None:
    text = StreamFormat.text_line_format()
    build = FileSource.for_record_stream_format
    with pytest.raises(InvalidValueError, match=r"FileSource: there is no file or folder .*nowhere"):
        build(text, str(tmp_path / "nowhere")).build()
    with pytest.raises(InvalidValueError, match="FileSource: a path is given twice"):
        build(text, str(tmp_path), str(tmp_path)).build()
    with pytest.raises(InvalidValueError, match="FileSource: give the path of a file or folder"):
        build(text)
    with pytest.raises(InvalidValueError, match=r"'s3://bucket/words' is not a file of this machine"):
        build(text, "s3://bucket/words")
    with pytest.raises(InvalidTypeError, match="FileSource: expected the path of a file or folder, got 5"):
        build(text, 5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"FileSource: expected a StreamFormat such as"):
        build("text", str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="monitor_continuously: files that come later are not waited for"):
        build(text, str(tmp_path)).monitor_continuously(None)
    with pytest.raises(UnsupportedError, match="for_bulk_file_format: files are read by lines"):
        FileSource.for_bulk_file_format(None, str(tmp_path))


# Sinks


def write(stream: DataStream, folder: Path, **options: Any) -> None:
    builder = FileSink.for_row_format(str(folder), options.get("encoder", Encoder.simple_string_encoder()))
    builder = builder.with_bucket_assigner(options.get("buckets", BucketAssigner.base_path_bucket_assigner()))
    builder = builder.with_output_file_config(
        OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    )
    builder = builder.with_rolling_policy(RollingPolicy.default_rolling_policy()).with_bucket_check_interval(100)
    stream.sink_to(sink=builder.disable_compact().build()).name("words")
    stream.get_execution_environment().execute()


def written(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def words(*values: str) -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_collection(list(values))


def test_a_stream_becomes_part_files(tmp_path: Path) -> None:
    write(words("one", "two"), tmp_path / "out")
    [(name, text)] = written(tmp_path / "out").items()
    assert re.fullmatch(r"words-\w+-\d+-\d+\.txt", name)
    assert text == "one\ntwo\n"


def test_a_second_run_writes_beside_the_first(tmp_path: Path) -> None:
    write(words("one"), tmp_path)
    write(words("two"), tmp_path)
    assert sorted(written(tmp_path).values()) == ["one\n", "two\n"]


def test_without_an_assigner_the_folders_are_hours(tmp_path: Path) -> None:
    words("one").sink_to(sink := FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build())
    stream = words("two")
    stream.sink_to(sink)
    stream.get_execution_environment().execute()
    [name] = written(tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d--\d\d/part-\w+-\d+-\d+", name)


class ByLength(BucketAssigner):
    def get_bucket_id(self, element: str, context: BucketContext) -> str:
        assert context.timestamp() is None
        assert context.current_processing_time() > context.current_watermark()
        return f"length={len(element)}"


def test_a_user_may_choose_the_folders(tmp_path: Path) -> None:
    write(words("one", "three", "two"), tmp_path, buckets=ByLength())
    assert {name.split("/")[0]: text for name, text in written(tmp_path).items()} == {
        "length=3": "one\ntwo\n",
        "length=5": "three\n",
    }


class Shout(Encoder):
    def encode(self, element: str) -> bytes:
        return f"{element.upper()}!".encode()


def test_a_user_may_write_an_encoder(tmp_path: Path) -> None:
    write(words("one", "two"), tmp_path, encoder=Shout())
    assert list(written(tmp_path).values()) == ["ONE!TWO!"]


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    stream = words("one", "bad").map(lambda word: 1 / 0 if word == "bad" else word)
    with pytest.raises(UserCodeError, match="ZeroDivisionError"):
        write(stream, tmp_path)
    assert written(tmp_path) == {}


def test_the_older_sink_writes_too(tmp_path: Path) -> None:
    stream = words("one")
    builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(policy=RollingPolicy.on_checkpoint_rolling_policy())
    stream.add_sink(builder.build())
    stream.get_execution_environment().execute()
    assert list(written(tmp_path).values()) == ["one\n"]


def bucket(assigner: BucketAssigner, millis: int) -> str:
    return assigner.get_bucket_id("x", BucketContext(millis, None, 0))


def test_folders_by_the_clock_take_javas_letters() -> None:
    millis = int(datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=datetime.UTC).timestamp() * 1000)
    by_hour = BucketAssigner.date_time_bucket_assigner(timezone_id="UTC")
    assert bucket(by_hour, millis) == "2024-02-03--04"
    by_day = BucketAssigner.date_time_bucket_assigner("'day='yyyyMMdd'/at 100%'", "UTC")
    assert bucket(by_day, millis) == "day=20240203/at 100%"
    assert bucket(BucketAssigner.date_time_bucket_assigner("HH:mm:ss", "UTC"), millis) == "04:05:06"


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("yyyy-DD", None, "'DD' in 'yyyy-DD' is not known"),
        ("yyyy'x", None, 'a quote is not closed in "yyyy\'x"'),
        ("yyyy", "Mars/Olympus", "unknown time zone 'Mars/Olympus'"),
    ],
)
def test_folders_that_cannot_be_named_are_refused(text: str, zone: str | None, message: str) -> None:
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        BucketAssigner.date_time_bucket_assigner(text, zone)


def test_sinks_that_cannot_be_are_refused(tmp_path: Path) -> None:
    encoder = Encoder.simple_string_encoder()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValueError, match=r"FileSink: .*file is a file; give the path of a folder"):
        FileSink.for_row_format(str(tmp_path / "file"), encoder).build()
    with pytest.raises(InvalidTypeError, match=r"FileSink: expected an Encoder such as"):
        FileSink.for_row_format(str(tmp_path), "text")  # type: ignore[arg-type]
    builder = FileSink.for_row_format(str(tmp_path), encoder)
    with pytest.raises(InvalidTypeError, match="FileSink: expected a RollingPolicy, got 5"):
        builder.with_rolling_policy(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="FileSink: expected a BucketAssigner, got 5"):
        builder.with_bucket_assigner(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="FileSink: expected an OutputFileConfig, got 5"):
        builder.with_output_file_config(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="OutputFileConfig: the prefix must be a text, got 5"):
        OutputFileConfig(5, "")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="default_rolling_policy: part_size must be an integer of 1 or more"):
        RollingPolicy.default_rolling_policy(part_size=0)
    with pytest.raises(UnsupportedError, match="enable_compact: files are not compacted"):
        builder.enable_compact(None, None)
    with pytest.raises(UnsupportedError, match="for_bulk_format: writer factories are Java classes"):
        FileSink.for_bulk_format(str(tmp_path), None)
