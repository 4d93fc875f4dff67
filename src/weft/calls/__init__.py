"""Calls of ready kernels that are made again: what they launch is decided once, and then kept."""
