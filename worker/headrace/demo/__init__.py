"""The demo: a few model calls of all six protocols with the faults that real traffic has, sent through a worker."""
