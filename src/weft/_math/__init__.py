"""How ``weft.math`` is made: one file per family of functions, and the tables that they share."""
