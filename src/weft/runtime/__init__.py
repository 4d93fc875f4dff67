"""Devices, their memory and their queues of work. Knows nothing of the compiler."""
