"""The interpreter as a device: kernels run thread by thread, as Python."""
