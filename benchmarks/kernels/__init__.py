"""The kernels that the benchmarks compile and run, written as a user of weft writes them."""
