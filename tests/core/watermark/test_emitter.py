from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.emitter import WatermarkEmitter
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


@pytest.fixture
def sent() -> list[Progress]:
    return []


@pytest.fixture
def emitter(sent: list[Progress]) -> WatermarkEmitter:
    return WatermarkEmitter(sent.append)


def test_only_a_higher_watermark_passes(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    for timestamp in (5, 5, 4, 6):
        emitter.emit_watermark(Watermark(timestamp))
    assert sent == [Watermark(5), Watermark(6)]


def test_the_lowest_watermark_is_no_news(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    emitter.emit_watermark(Watermark.MIN)
    assert sent == []
    assert emitter.current_watermark == MIN_TIME


def test_a_status_is_announced_once_per_change(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    emitter.mark_active()
    emitter.mark_idle()
    emitter.mark_idle()
    emitter.mark_active()
    emitter.mark_active()
    assert sent == [IDLE, ACTIVE]


def test_a_higher_watermark_of_an_idle_channel_announces_active_first(
    emitter: WatermarkEmitter, sent: list[Progress]
) -> None:
    emitter.mark_idle()
    emitter.emit_watermark(Watermark(5))
    assert sent == [IDLE, ACTIVE, Watermark(5)]


def test_a_watermark_that_is_not_higher_leaves_an_idle_channel_idle(
    emitter: WatermarkEmitter, sent: list[Progress]
) -> None:
    emitter.emit_watermark(Watermark(5))
    emitter.mark_idle()
    emitter.emit_watermark(Watermark(5))
    assert sent == [Watermark(5), IDLE]
    assert emitter.is_idle


def test_nothing_follows_the_end(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    emitter.emit_watermark(Watermark.MAX)
    emitter.emit_watermark(Watermark.MAX)
    emitter.emit_watermark(Watermark(5))
    emitter.mark_idle()
    emitter.mark_active()
    assert sent == [Watermark.MAX]
    assert emitter.has_ended


def test_an_idle_channel_that_ends_is_active_first(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    emitter.mark_idle()
    emitter.emit_watermark(Watermark.MAX)
    assert sent == [IDLE, ACTIVE, Watermark.MAX]


@pytest.mark.parametrize("watermark", [5, None, IDLE])
def test_what_is_no_watermark_is_refused(emitter: WatermarkEmitter, sent: list[Progress], watermark: Any) -> None:
    with pytest.raises(InvalidTypeError, match=f"emit_watermark takes a Watermark, got {watermark!r}"):
        emitter.emit_watermark(watermark)
    assert sent == []


def test_a_restored_emitter_knows_what_it_said(emitter: WatermarkEmitter, sent: list[Progress]) -> None:
    emitter.emit_watermark(Watermark(5))
    emitter.mark_idle()
    sent.clear()
    restored = WatermarkEmitter(sent.append)
    restored.restore(json.loads(json.dumps(emitter.snapshot())))
    restored.mark_idle()
    restored.emit_watermark(Watermark(5))
    assert sent == []
    restored.emit_watermark(Watermark(6))
    assert sent == [ACTIVE, Watermark(6)]
