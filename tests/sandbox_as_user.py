"""``python -m tests.sandbox_as_user UID PROCESSES --socket PATH``: the sandbox under another user, as in its container.

Everything is imported first, because that user may not be able to read the interpreter's folder.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys

from images.sandbox.__main__ import import_ahead, main

if __name__ == "__main__":
    uid, processes = int(sys.argv.pop(1)), int(sys.argv.pop(1))
    import_ahead()
    importlib.import_module("images.sandbox.kernel")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    os._exit(main())
