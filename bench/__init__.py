"""Speed and size, each measured beside a raw baseline in the same run: ``python -m bench [NAME ...] [--quick]``."""
