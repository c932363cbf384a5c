"""Where a program runs, and what it says about the cluster that it no longer has."""

import sys
from pathlib import Path

import pytest

from tidegate.common import Configuration, Duration
from tidegate.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from tidegate.datastream.environment_settings import choose_runtime
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError


def test_the_environment_variable_chooses_for_a_program_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_runtime(None) == "local"
    monkeypatch.setenv("TIDEGATE_RUNTIME", "spark")
    assert choose_runtime(None) == "spark"
    monkeypatch.setenv("TIDEGATE_RUNTIME", "")
    assert choose_runtime(None) == "spark"
    monkeypatch.delenv("TIDEGATE_RUNTIME")
    assert choose_runtime(None) == "spark"


def test_an_argument_is_stronger_than_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_runtime("spark") == "spark"
    assert choose_runtime(None, spark=object()) == "spark"
    monkeypatch.setenv("TIDEGATE_RUNTIME", "spark")
    assert choose_runtime("local") == "local"
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    assert list(env.from_collection([1]).execute_and_collect()) == [1]


def test_an_unknown_runtime_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidValueError, match=r"^runtime must be 'spark' or 'local', got 'flink'"):
        choose_runtime("flink")
    monkeypatch.setenv("TIDEGATE_RUNTIME", "flink")
    with pytest.raises(InvalidValueError, match=r"^the environment variable TIDEGATE_RUNTIME must be 'spark' or 'loc"):
        StreamExecutionEnvironment.get_execution_environment()


def configuration() -> Configuration:
    settings = Configuration()
    settings.set_string("parallelism.default", "3")
    settings.set_string("pipeline.auto-watermark-interval", "50 ms")
    settings.set_string("pipeline.global-job-parameters", "city:Oslo,limit:5")
    settings.set_integer("pipeline.max-parallelism", 64)
    settings.set_string("pipeline.operator-chaining.enabled", "false")
    settings.set_string("execution.buffer-timeout.interval", "7")
    settings.set_string("execution.checkpointing.interval", "1 min")
    settings.set_string("execution.checkpointing.mode", "AT_LEAST_ONCE")
    settings.set_string("execution.runtime-mode", "BATCH")
    settings.set_string("taskmanager.memory.process.size", "1g")
    return settings


def test_a_configuration_is_given_by_name_or_first() -> None:
    for env in (
        StreamExecutionEnvironment.get_execution_environment(configuration()),
        StreamExecutionEnvironment.get_execution_environment(configuration=configuration()),
    ):
        assert env.get_parallelism() == 3
        assert env.get_max_parallelism() == 64
        assert env.get_config().get_auto_watermark_interval() == 50
        assert env.get_config().get_global_job_parameters() == {"city": "Oslo", "limit": "5"}
        assert not env.is_chaining_enabled()
        assert env.get_buffer_timeout() == 7
        assert env.get_checkpoint_interval() == 60_000
        assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE


def test_the_argument_counts_more_than_the_configuration() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(configuration(), parallelism=2)
    assert env.get_parallelism() == 2


def test_a_later_configuration_changes_the_environment() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(Configuration.from_dict({"parallelism.default": "4"}))
    assert env.get_parallelism() == 4
    with pytest.raises(InvalidTypeError, match="configure: expected a Configuration, got 4"):
        env.configure(4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("execution.runtime-mode", "FAST", "expected one of STREAMING, BATCH, AUTOMATIC, got 'FAST'"),
        ("pipeline.global-job-parameters", "city", "expected 'name:value,name:value', got 'city'"),
        ("pipeline.auto-watermark-interval", "soon", "cannot read 'soon' as a duration"),
        ("parallelism.default", "0", "parallelism must be an integer of 1 or more, got 0"),
    ],
)
def test_an_option_that_cannot_be_is_refused(key: str, value: str, message: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(InvalidValueError, match=message):
        env.configure(Configuration.from_dict({key: value}))


def test_what_is_said_about_checkpoints_is_remembered() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_checkpoint_interval() == -1
    assert not env.get_checkpoint_config().is_checkpointing_enabled()
    env.enable_checkpointing(5000, CheckpointingMode.AT_LEAST_ONCE)
    config = env.get_checkpoint_config()
    assert isinstance(config, CheckpointConfig)
    assert config.get_checkpoint_interval() == env.get_checkpoint_interval() == 5000
    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE).set_checkpoint_timeout(100)
    config.set_min_pause_between_checkpoints(7).set_max_concurrent_checkpoints(2)
    config.set_tolerable_checkpoint_failure_number(3).enable_unaligned_checkpoints().set_force_unaligned_checkpoints()
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    config.set_alignment_timeout(Duration.of_seconds(1))
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert (config.get_checkpoint_timeout(), config.get_min_pause_between_checkpoints()) == (100, 7)
    assert (config.get_max_concurrent_checkpoints(), config.get_tolerable_checkpoint_failure_number()) == (2, 3)
    assert not config.is_fail_on_checkpointing_errors()
    assert config.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()
    assert env.is_unaligned_checkpoints_enabled()
    assert env.is_force_unaligned_checkpoints()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert config.is_externalized_checkpoints_enabled()
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert config.get_aligned_checkpoint_timeout() == config.get_alignment_timeout() == Duration.of_seconds(1)


def test_bad_checkpoint_settings_are_refused() -> None:
    config = CheckpointConfig()
    with pytest.raises(
        InvalidValueError, match="set_checkpoint_interval: expected a whole number of milliseconds, 1 or"
    ):
        config.set_checkpoint_interval(0)
    with pytest.raises(InvalidTypeError, match=r"set_checkpointing_mode: expected a CheckpointingMode such as"):
        config.set_checkpointing_mode(1)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="set_externalized_checkpoint_retention: expected an Externalized"):
        config.set_externalized_checkpoint_retention(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="set_aligned_checkpoint_timeout: expected a Duration, got 5"):
        config.set_aligned_checkpoint_timeout(5)  # type: ignore[arg-type]
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(InvalidTypeError, match="set_runtime_mode: expected a RuntimeExecutionMode, got 'BATCH'"):
        env.set_runtime_mode("BATCH")  # type: ignore[arg-type]


def test_settings_of_a_cluster_are_accepted() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.set_buffer_timeout(10).get_buffer_timeout() == 10
    assert not env.disable_operator_chaining().is_chaining_enabled()
    assert env.set_runtime_mode(RuntimeExecutionMode.STREAMING) is env
    env.add_jars("file:///connector.jar", "file:///other.jar")
    env.add_classpaths("file:///classes")
    env.set_python_requirements("requirements.txt", "cached")
    env.set_python_executable("python3")
    assert not env.is_changelog_state_backend_enabled()
    assert env.get_default_savepoint_directory() is None
    assert env.get_default_local_parallelism() == 1


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("add_python_archive", ("venv.zip",), "archives are not unpacked for workers"),
        ("register_cached_file", ("words.txt", "words"), "files are not sent to workers; open the file in open"),
        ("register_slot_sharing_group", (None,), "Spark places tasks"),
        ("create_input", (None,), "input formats are Java classes; write a `Source`"),
        ("enable_changelog_state_backend", (True,), "there is no choice of state backends"),
        ("set_default_local_parallelism", (2,), "set the parallelism of the environment"),
    ],
)
def test_what_would_mislead_is_refused_by_name(method: str, arguments: tuple[object, ...], message: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(UnsupportedError, match=f"{method}: {message}"):
        getattr(env, method)(*arguments)


def test_functions_import_from_files_that_were_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "tariffs_of_a_test.py").write_text("RATE = 3\n")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file(str(tmp_path / "tariffs_of_a_test.py"))

    def rated(value: int) -> int:
        import tariffs_of_a_test  # type: ignore[import-not-found]

        return value * int(tariffs_of_a_test.RATE)

    assert list(env.from_collection([2]).map(rated).execute_and_collect()) == [6]
    with pytest.raises(InvalidValueError, match=r"add_python_file: there is no nowhere.py"):
        env.add_python_file("nowhere.py")


def test_files_for_spark_workers_belong_to_the_session() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="spark")
    with pytest.raises(UnsupportedError, match=r"add_python_file: .*spark.addArtifact\('udfs.py', pyfile=True\)"):
        env.add_python_file("udfs.py")


def test_local_jobs_have_no_savepoints() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.set_default_savepoint_directory("/savepoints").get_default_savepoint_directory() == "/savepoints"
    env.from_collection([1]).print()
    job = env.execute_async("job")
    with pytest.raises(UnsupportedError, match=r"trigger_savepoint: a local job saves its state when it stops"):
        job.trigger_savepoint("/savepoints")
    with pytest.raises(UnsupportedError, match=r"stop_with_savepoint: a job whose time has ended cannot go on"):
        job.stop_with_savepoint(True)
    job.wait(10)
