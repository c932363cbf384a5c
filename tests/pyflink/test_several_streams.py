"""Connected streams and broadcast state."""

from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.common import Types
from tidegate.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from tidegate.datastream.data_stream import BroadcastConnectedStream, ConnectedStreams
from tidegate.datastream.functions import CoFlatMapFunction
from tidegate.datastream.state import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    State,
    ValueStateDescriptor,
)

ORDERS = [("apple", 2), ("pear", 1), ("apple", 5)]
PRICES = [("apple", 10), ("pear", 7)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
PRICE_STATE = MapStateDescriptor("prices", Types.STRING(), Types.INT())


class Describe(CoMapFunction):
    def map1(self, value: tuple[str, int]) -> str:
        return f"{value[1]} x {value[0]}"

    def map2(self, value: tuple[str, int]) -> str:
        return f"{value[0]} costs {value[1]}"


class Names(CoFlatMapFunction):
    def flat_map1(self, value: tuple[str, int]) -> list[str]:
        return [value[0]] * value[1]

    def flat_map2(self, value: tuple[str, int]) -> list[str]:
        return []


def test_each_stream_has_its_own_method() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    connected = env.from_collection(ORDERS, PAIR).connect(env.from_collection(PRICES, PAIR))
    assert isinstance(connected, ConnectedStreams)
    described = connected.map(Describe(), output_type=Types.STRING())
    assert set(described.execute_and_collect()) >= {"2 x apple", "pear costs 7"}
    assert sorted(connected.flat_map(Names()).execute_and_collect()) == ["apple"] * 7 + ["pear"]


class Cost(KeyedCoProcessFunction):
    """The cost of each order, once the price of its fruit is known."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.price = runtime_context.get_state(ValueStateDescriptor("price", Types.INT()))
        self.ordered = runtime_context.get_state(ValueStateDescriptor("ordered", Types.INT()))

    def process_element1(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        price = self.price.value()
        if price is None:
            self.ordered.update((self.ordered.value() or 0) + value[1])
        else:
            yield ctx.get_current_key(), price * value[1]

    def process_element2(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.price.update(value[1])
        if self.ordered.value():
            yield value[0], value[1] * self.ordered.value()
            self.ordered.clear()


@pytest.mark.parametrize("parallelism", [1, 4])
def test_equal_keys_of_two_streams_share_their_state(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    orders, prices = env.from_collection(ORDERS, PAIR), env.from_collection(PRICES, PAIR)
    connected = orders.connect(prices)
    assert isinstance(connected, ConnectedStreams)
    keyed = connected.key_by(lambda order: order[0], lambda price: price[0], key_type=Types.STRING())
    costs: dict[str, int] = {}
    for fruit, cost in keyed.process(Cost(), output_type=PAIR).execute_and_collect():
        costs[fruit] = costs.get(fruit, 0) + cost
    assert costs == {"apple": 70, "pear": 7}


class Enrich(BroadcastProcessFunction[tuple[str, int], tuple[str, int], str]):  # type: ignore[type-arg]
    def process_element(self, value: tuple[str, int], ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        prices = ctx.get_broadcast_state(PRICE_STATE)
        assert isinstance(prices, ReadOnlyBroadcastState)
        assert isinstance(prices, State)
        yield value[0], prices.get(value[0])

    def process_broadcast_element(self, value: tuple[str, int], ctx: BroadcastProcessFunction.Context) -> None:
        prices: BroadcastState[str, int] = ctx.get_broadcast_state(PRICE_STATE)  # type: ignore[type-arg]
        prices.put(value[0], value[1])


@pytest.mark.parametrize("parallelism", [1, 3])
def test_broadcast_state_is_in_every_subtask(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    prices = env.from_collection(PRICES, PAIR).broadcast(PRICE_STATE)
    connected = env.from_collection(ORDERS, PAIR).rebalance().connect(prices)
    assert isinstance(connected, BroadcastConnectedStream)
    found = list(connected.process(Enrich()).execute_and_collect())
    assert len(found) == 3
    assert found[-1] == ("apple", 10)


class Limits(KeyedBroadcastProcessFunction):
    """Sums up orders and reports a fruit when its limit is broadcast."""

    sums = ValueStateDescriptor("sum", Types.INT())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(self.sums)

    def process_element(
        self, value: tuple[str, int], ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1)
        yield ctx.get_current_key(), self.sum.value(), list(ctx.get_broadcast_state(PRICE_STATE).items())

    def process_broadcast_element(
        self, value: tuple[str, int], ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        found: list[tuple[str, int]] = []
        ctx.apply_to_keyed_state(self.sums, lambda key, state: found.append((key, state.value())))
        yield "so far", len(found), []


def test_the_broadcast_side_visits_the_state_of_every_key() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection(ORDERS, PAIR).key_by(lambda order: order[0])
    connected = keyed.connect(env.from_collection(PRICES, PAIR).broadcast(PRICE_STATE))
    results = list(connected.process(Limits()).execute_and_collect())
    assert ("apple", 7, []) in results
    assert [count for what, count, _ in results if what == "so far"][-1] >= 1


class WritesFromTheWrongSide(Enrich):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(PRICE_STATE).put("apple", 0)
        yield value


def test_only_the_broadcast_side_writes() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    prices = env.from_collection(PRICES, PAIR).broadcast(PRICE_STATE)
    connected = env.from_collection(ORDERS, PAIR).connect(prices)
    with pytest.raises(ValueError, match=r"read-only here: only process_broadcast_element may write it"):
        list(connected.process(WritesFromTheWrongSide()).execute_and_collect())
