"""What an environment does before its first action, and nothing else: imports of the entry point and the scene."""

import json
import os
import sys
from importlib import import_module

import images.gateway.__main__  # noqa: F401

import_module(sys.argv[1]).create(json.loads(sys.argv[2]))
os._exit(0)
