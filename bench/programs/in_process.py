"""Steps an environment, its evaluator included, without gateway, socket and sandbox. Frames on stdio: a specification
with actions, then one range of actions after the other, each answered with its times and this process's peak memory."""

import os
import time
from importlib import import_module
from typing import Any

from images.client.wire import descriptor_reader, encode, read_frame

out, read = os.dup(1), descriptor_reader(0)
os.dup2(2, 1)


def send(header: dict[str, Any]) -> None:
    os.write(out, encode(header))


send({"op": "hello"})
header, parts = read_frame(read)
environment = import_module(header["engine"]).create(header["spec"])
actions = parts["actions"]
send({"op": "ready"})
while True:
    try:
        header, _ = read_frame(read)
    except EOFError:
        break
    wall, cpu = time.perf_counter(), time.process_time()
    for action in actions[header["start"] : header["stop"]]:
        environment.apply(action)
        environment.judge()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # Not ru_maxrss, which starts with the size of the process that forked this one.
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    send({"op": "stepped", "wall_s": wall, "cpu_s": cpu, "peak_bytes": peak})
os._exit(0)
