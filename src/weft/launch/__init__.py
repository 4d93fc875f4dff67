"""What needs a kernel and a device."""
