"""Random scripts for asynchronous requests: queues and retries."""

from __future__ import annotations

from random import Random

from tests.oracle.script import Script, Step


def queue_script(rng: Random) -> Script:
    """Requests and watermarks put into a small queue, answers in any order, each with any number of results."""
    pending: list[int] = []
    steps: list[Step] = []
    watermark = 0
    for number in range(rng.randint(5, 30)):
        draw = rng.random()
        if draw < 0.35:
            pending.append(number)
            steps.append(["put", number, rng.randint(-10, 50)])
        elif draw < 0.5:
            watermark += rng.randint(0, 5)
            steps.append(["watermark", watermark])
        elif draw < 0.75 and pending:
            done = pending.pop(rng.randrange(len(pending)))
            steps.append(["complete", done, [rng.randint(0, 99) for _ in range(rng.choice([0, 1, 1, 1, 3]))]])
        else:
            steps.append(["emit"])
    return {
        "kind": "async_queue",
        "ordered": rng.random() < 0.4,
        "capacity": rng.choice([1, 2, 4, 100]),
        "steps": [*steps, ["emit"]],
    }


def retry_script(rng: Random) -> Script:
    """The questions that requests ask one after another: may I, and after which delay."""
    script: Script = {"kind": "retry", "strategy": rng.choice(["fixed", "exponential", "exponential"])}
    script["attempts"] = rng.randint(1, 8)
    script["delay"] = rng.choice([1, 3, 7, 10, 33, 100])
    if script["strategy"] == "exponential":
        script["limit"] = max(script["delay"], rng.choice([5, 50, 500, 100_000]))
        script["multiplier"] = rng.choice([1.0, 1.1, 1.5, 2.0, 3.0, 1.37])
    steps: list[Step] = []
    for _ in range(rng.randint(1, 3)):
        steps += [["can", rng.randint(1, 10)], ["delays", rng.randint(1, 10)]]
    if rng.random() < 0.05:
        steps += [["delay", rng.randint(1, 4)] for _ in range(3)]
    return script | {"steps": steps}
