"""Random scripts for what moves time: valve, combination, multiplexer, generators, alignment, timers."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.oracle.script import Script, Step

from tidegate.core.time.millis import MAX_TIME, MIN_TIME

LONG = 0.01
"""The share of scripts so long that heaps with lazy deletion are tidied up."""


def channel_script(kind: str, rng: Random) -> Script:
    """Watermarks that mostly rise, on channels that go idle and come back; some channels end."""
    channels = rng.choice([1, 2, 2, 3, 3, 4, 5, 8])
    status_rate = rng.choice([0.0, 0.3, 0.5, 0.7])
    end_rate = rng.choice([0.0, 0.0, 0.02, 0.1])
    longest_jump = rng.choice([3, 9, 30])
    reached = [rng.randint(-30, 0) for _ in range(channels)]
    is_idle = [False] * channels
    steps = _laggard(channels, reached, rng) if channels > 2 and rng.random() < 0.4 else []
    is_long = channels > 2 and rng.random() < LONG
    length = rng.randint(150, 250) if is_long else rng.randint(4, 28)
    for number in range(length):
        # In a long script the first channel is silent at first, and the watermarks of the others pile up behind it.
        channel = rng.randrange(1 if is_long and number < length * 0.8 else 0, channels)
        if rng.random() < status_rate:
            if rng.random() < 0.9:
                is_idle[channel] = not is_idle[channel]
            steps.append(["idle" if is_idle[channel] else "active", channel])
        elif rng.random() < end_rate:
            steps.append(["watermark", channel, MAX_TIME])
        else:
            time = reached[channel] + rng.randint(-2, longest_jump)
            reached[channel] = max(reached[channel], time)
            steps.append(["watermark", channel, time])
    return {"kind": kind, "channels": channels, "steps": steps}


def _laggard(channels: int, reached: list[int], rng: Random) -> list[Step]:
    """The last channel sleeps while the others go on, and comes back behind them."""
    last = channels - 1
    steps: list[Step] = [["watermark", last, reached[last]], ["idle", last]]
    for channel in range(last):
        reached[channel] = max(reached) + rng.randint(1, 9)
        steps.append(["watermark", channel, reached[channel]])
    return [*steps, ["active", last]]


def generator_script(rng: Random) -> Script:
    """Events out of order, probes at uneven times, silence, pauses of the idle clock, and perhaps the end."""
    script: Script = {"kind": "generator", "strategy": rng.choice(["bounded", "bounded", "ascending", "none"])}
    if script["strategy"] == "bounded":
        script["bound"] = rng.choice([0, 1, 5, 20, 1_000, MAX_TIME if rng.random() < 0.1 else 3])
    if rng.random() < 0.7:
        script["idleness"] = rng.choice([1, 50, 100, 100, 250])
    time = rng.choice([0, -500, MIN_TIME, 1_700_000_000_000])
    event_rate = rng.choice([0.2, 0.5, 0.8])
    pause_rate = rng.choice([0.0, 0.0, 0.15]) if "idleness" in script else 0.0
    is_paused = False
    steps: list[Step] = []
    for _ in range(rng.randint(4, 24)):
        if rng.random() < 0.03:
            steps.append(["end"])
        elif rng.random() < pause_rate:
            steps.append(["resume" if is_paused else "pause"])
            is_paused = not is_paused
        elif rng.random() < event_rate:
            time = min(time + rng.randint(-10, 15) * rng.choice([1, 1, 100]), MAX_TIME)
            steps.append(["event", max(time, MIN_TIME)])
        else:
            steps.append(["tick", rng.choice([0, 1, 49, 50, 51, 100, 101, 200])])
    return script | {"steps": steps}


def alignment_script(rng: Random) -> Script:
    """Every channel speaks once, so that both sides know it; then watermarks go up and down, and channels end."""
    channels = rng.randint(1, 6)
    steps: list[Step] = [["report", channel, MIN_TIME] for channel in range(channels)]
    for _ in range(rng.randint(3, 20)):
        time = MAX_TIME if rng.random() < 0.15 else rng.randint(-20, 60)
        steps.append(["report", rng.randrange(channels), time])
    return {"kind": "alignment", "channels": channels, "steps": steps}


def timer_script(rng: Random) -> Script:
    draw = rng.random()
    if draw < LONG:
        return _crowded_timer_script(rng)
    return _sliced_timer_script(rng) if draw < 0.25 else _reacting_timer_script(rng)


def _crowded_timer_script(rng: Random) -> Script:
    """Many timers, of which most are deleted before they fire."""
    verb = rng.choice(["event", "clock"])
    made = [[time, rng.choice("ab"), "x"] for time in rng.sample(range(1, 200), rng.randint(100, 140))]
    deleted = rng.sample(made, len(made) - rng.randint(5, 15))
    steps: list[Step] = [[verb, *timer] for timer in made]
    steps += [[f"delete_{verb}", *timer] for timer in deleted]
    advance = "watermark" if verb == "event" else "now"
    return {"kind": "timers", "steps": [*steps, [advance, rng.randint(20, 150)], [advance, 201]]}


def _reacting_timer_script(rng: Random) -> Script:
    """Timers registered and deleted from outside and by firing timers, in both time domains."""
    keys, namespaces = "abcd", "xy"
    reactions: dict[str, list[Any]] = {}
    if rng.random() < 0.7:
        lowest = rng.choice([0, 0, -6])
        # A deletion of what fires in the same step would depend on the order of ties.
        verbs = ["event", "clock"] if lowest < 0 else ["event", "clock", "event", "delete_event", "delete_clock"]
        for key in rng.sample(keys, rng.randint(1, 3)):
            reactions[key] = []
            for verb in rng.choices(verbs, k=rng.randint(1, 3)):
                reactions[key].append([verb, rng.randint(1 if verb.startswith("delete") else lowest, 8)])
    extremes = not reactions and rng.random() < 0.3
    watermark, now = rng.randint(-20, 0), 0
    steps: list[Step] = []
    for _ in range(rng.randint(6, 26)):
        verb = rng.choice(["event", "event", "clock", "clock", "delete_event", "delete_clock", "watermark", "now"])
        if verb == "watermark":
            watermark += rng.choice([-1, 0, 1, 5, 5, 12])
            steps.append([verb, MAX_TIME if extremes and rng.random() < 0.1 else watermark])
        elif verb == "now":
            now += rng.choice([0, 1, 5, 12])
            steps.append([verb, now])
        else:
            time = rng.randint(-10, 40)
            if extremes and verb.endswith("event") and rng.random() < 0.2:
                time = rng.choice([MIN_TIME, MAX_TIME])
            steps.append([verb, time, rng.choice(keys), rng.choice(namespaces)])
    return {"kind": "timers", "reactions": reactions, "steps": steps}


def _sliced_timer_script(rng: Random) -> Script:
    """Advances that are interrupted and taken up again; no two timers of one time, so that order is certain."""
    times = rng.sample(range(-20, 60), rng.randint(3, 14))
    steps: list[Step] = []
    watermark = -25
    for time in times:
        steps.append(["event", time, rng.choice("ab"), "x"])
        if rng.random() < 0.3:
            watermark += rng.randint(0, 20)
            steps.append(["advance", watermark, rng.randint(1, 4)])
    return {"kind": "timers", "steps": [*steps, ["advance", 60, rng.randint(1, 4)]]}
