"""The algebra of layouts."""
