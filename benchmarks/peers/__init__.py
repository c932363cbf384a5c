"""The same windows on Tidegate and on its peers, checked against each other and timed: `make bench`."""
