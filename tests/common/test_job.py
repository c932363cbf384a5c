import pickle

import pytest

from tidegate.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from tidegate.errors import InvalidTypeError, InvalidValueError


def test_terminal_states_are_those_of_flink() -> None:
    globally = {status for status in JobStatus if status.is_globally_terminal_state()}
    locally = {status for status in JobStatus if status.is_terminal_state()}
    assert globally == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert locally == globally | {JobStatus.SUSPENDED}


def test_job_ids_are_values() -> None:
    job_id = JobID.generate()
    assert job_id == JobID(str(job_id))
    assert job_id != JobID.generate()
    assert len({job_id, JobID(str(job_id))}) == 1
    with pytest.raises(InvalidValueError, match="JobID: expected text that is not empty, got ''"):
        JobID("")


def test_result_tells_what_the_job_left() -> None:
    result = JobExecutionResult(JobID("a1"), 250, {"lines": 3})
    assert result.get_job_id() == JobID("a1")
    assert result.get_net_runtime() == 250
    assert result.get_accumulator_result("lines") == 3
    assert result.get_accumulator_result("other") is None
    assert result.get_all_accumulator_results() == {"lines": 3}
    assert pickle.loads(pickle.dumps(result)) == result


def test_result_needs_a_job_id() -> None:
    with pytest.raises(InvalidTypeError, match="JobExecutionResult: expected a JobID, got 'a1'"):
        JobExecutionResult("a1", 250)  # type: ignore[arg-type]


def test_completed_future_has_its_result() -> None:
    future = CompletableFuture.completed(5)
    assert future.done()
    assert not future.cancelled()
    assert future.exception() is None
    assert future.result() == 5


def test_job_client_is_to_be_written_by_a_runtime() -> None:
    with pytest.raises(TypeError, match="abstract"):
        JobClient()  # type: ignore[abstract]
