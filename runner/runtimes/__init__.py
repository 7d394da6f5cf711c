"""Runtimes: docker (official), bubblewrap, process."""
