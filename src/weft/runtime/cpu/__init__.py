"""This machine's processor as a device."""
