"""Benchmarks of weft beside its peers: ``python -m benchmarks [compile|startup|cpu|gpu]``."""
