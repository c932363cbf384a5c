import pickle
from typing import Any

import pytest

from tidegate.common import ExecutionConfig
from tidegate.errors import InvalidTypeError, InvalidValueError


def test_defaults_are_those_of_flink() -> None:
    config = ExecutionConfig()
    assert config.get_auto_watermark_interval() == 200
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.get_max_parallelism() == -1
    assert config.get_global_job_parameters() == {}
    assert config.has_auto_generated_uids_enabled()
    assert config.is_closure_cleaner_enabled()
    assert not config.is_object_reuse_enabled()
    assert not config.is_use_snapshot_compression()
    assert config.get_latency_tracking_interval() == 0
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 180_000


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("auto_watermark_interval", 0),
        ("auto_watermark_interval", 10_000),
        ("parallelism", 4),
        ("parallelism", -1),
        ("parallelism", -2),
        ("max_parallelism", 40_000),
        ("latency_tracking_interval", 5),
        ("task_cancellation_interval", 5),
        ("task_cancellation_timeout", 0),
        ("global_job_parameters", {"a": "b"}),
    ],
)
def test_setting_is_remembered(setting: str, value: Any) -> None:
    config = ExecutionConfig()
    assert getattr(config, f"set_{setting}")(value) is config
    assert getattr(config, f"get_{setting}")() == value


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        ("auto_watermark_interval", -1, "expected a whole number of milliseconds, 0 or more, got -1"),
        ("auto_watermark_interval", 1.5, "expected a whole number of milliseconds, 0 or more, got 1.5"),
        ("auto_watermark_interval", True, "expected a whole number of milliseconds, 0 or more, got True"),
        ("parallelism", 0, "expected a whole number of subtasks, 1 or more, got 0"),
        ("parallelism", -3, "expected a whole number of subtasks, 1 or more, got -3"),
        ("max_parallelism", 0, "expected a whole number of subtasks, 1 or more, got 0"),
        ("latency_tracking_interval", -1, "expected a whole number of milliseconds"),
        ("task_cancellation_interval", -1, "expected a whole number of milliseconds"),
        ("task_cancellation_timeout", -1, "expected a whole number of milliseconds"),
    ],
)
def test_bad_setting_is_refused(setting: str, value: Any, text: str) -> None:
    config = ExecutionConfig()
    with pytest.raises(InvalidValueError, match=f"set_{setting}: {text}"):
        getattr(config, f"set_{setting}")(value)
    assert config == ExecutionConfig()


@pytest.mark.parametrize(
    ("switch", "question"),
    [
        ("auto_generated_uids", "has_auto_generated_uids_enabled"),
        ("closure_cleaner", "is_closure_cleaner_enabled"),
        ("object_reuse", "is_object_reuse_enabled"),
    ],
)
def test_switch_goes_on_and_off(switch: str, question: str) -> None:
    config = ExecutionConfig()
    assert getattr(config, f"disable_{switch}")() is config
    assert not getattr(config, question)()
    assert getattr(config, f"enable_{switch}")() is config
    assert getattr(config, question)()


def test_snapshot_compression_is_remembered() -> None:
    assert ExecutionConfig().set_use_snapshot_compression(True).is_use_snapshot_compression()


def test_job_parameters_become_text_and_are_not_shared() -> None:
    config = ExecutionConfig().set_global_job_parameters({"rate": 1})
    assert config.get_global_job_parameters() == {"rate": "1"}
    config.get_global_job_parameters()["rate"] = "2"
    assert config.get_global_job_parameters() == {"rate": "1"}
    with pytest.raises(InvalidTypeError, match="set_global_job_parameters: expected a dict of parameters by name"):
        config.set_global_job_parameters(["rate"])  # type: ignore[arg-type]


def test_config_survives_pickling() -> None:
    config = ExecutionConfig().set_parallelism(4)
    assert pickle.loads(pickle.dumps(config)) == config
