"""Measurements of this library beside its peers; `python -m tests.benchmarks.peers` runs them."""
