"""Keeps the taxi rides that start and end in the city, and says in which square of the map they did."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FilterFunction, MapFunction

WEST, EAST = -74.05, -73.70
SOUTH, NORTH = 40.55, 40.95
SQUARE = 0.05

# ride, longitude and latitude of the start, longitude and latitude of the end
RIDES = [
    (1, -73.98, 40.75, -73.78, 40.64),
    (2, -73.99, 40.73, -73.95, 40.78),
    (3, -74.17, 40.69, -73.97, 40.76),
    (4, -73.87, 40.77, -73.99, 40.72),
    (5, 0.0, 0.0, 0.0, 0.0),
    (6, -73.92, 40.82, -73.92, 41.10),
    (7, -74.04, 40.56, -73.71, 40.94),
    (8, -73.96, 40.80, -73.60, 40.80),
]


class InTheCity(FilterFunction):
    def filter(self, value):
        _, start_longitude, start_latitude, end_longitude, end_latitude = value
        return _is_inside(start_longitude, start_latitude) and _is_inside(end_longitude, end_latitude)


def _is_inside(longitude, latitude):
    return WEST <= longitude <= EAST and SOUTH <= latitude <= NORTH


class WithSquares(MapFunction):
    def map(self, value):
        ride, *places = value
        return ride, _square(*places[:2]), _square(*places[2:])


def _square(longitude, latitude):
    column = int((longitude - WEST) / SQUARE)
    row = int((NORTH - latitude) / SQUARE)
    return f"{chr(ord('A') + column)}{row}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    rides = env.from_collection(RIDES)
    squares = rides.filter(InTheCity()).map(WithSquares())
    squares.map(lambda ride: f"ride {ride[0]}: {ride[1]} to {ride[2]}", output_type=Types.STRING()).print()
    env.execute("ride cleansing")


if __name__ == "__main__":
    main()
