"""Runs inside bubblewrap, before the entry point: ``python -I -S confine.py SETTINGS COMMAND...``.

Sets the resource limits, gives up root where the runner is root, and becomes the command. It is a program of its own
because both belong after the mounts: bubblewrap may need to be root to make them, and its own work must not count
against the limits. Standard library only.
"""

import json
import os
import resource
import sys


def main() -> None:
    settings = json.loads(sys.argv[1])
    for name, value in settings["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if settings["uid"] is not None:
        os.setgroups(settings["groups"])
        os.setresgid(settings["gid"], settings["gid"], settings["gid"])
        os.setresuid(settings["uid"], settings["uid"], settings["uid"])
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
