"""Whole programs compiled ahead: ``weft build`` and ``weft.precompile``."""
