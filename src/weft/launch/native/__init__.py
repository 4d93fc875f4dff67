"""Launches without Python."""
