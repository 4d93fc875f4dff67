"""Arrays of other libraries: how their memory is found, ordered and kept. See :mod:`weft.interop`."""
