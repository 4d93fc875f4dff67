"""Tensors: memory seen through a layout."""
