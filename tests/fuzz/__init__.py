"""Random programs of the whole language, run by weft and by a model in Python; ``python -m tests.fuzz``."""
