"""Functions as their authors defined them: a ``Definition`` is all that the compiler asks of one.

``python.py`` makes it of a Python function. A parser of other text makes it itself, and gives it to
``Kernel`` or ``Func``; its file's syntax is known to diagnostics by ``weft.diagnostics.wrote.PARSERS``.
"""
