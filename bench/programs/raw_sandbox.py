"""What a sandbox does before its first job, and nothing else: imports of the entry point."""

import os

from images.sandbox.__main__ import import_ahead

import_ahead()
import images.sandbox.kernel  # noqa: E402, F401

os._exit(0)
