"""Random joint targets within the described limits, each approached in a straight line over some seconds.

A far target commanded at once breaks the speed limit of most robots with the first action; a slow approach lets the
baseline meet the rest of the scene.
"""

import numpy as np

from images.client import connect

SEED = 0  # the runner puts the attempt's seed here
APPROACH_S = 4.0  # simulated seconds; the widest joint range at this pace stays below a Panda's rated speed

env = connect()
description = env.describe()
low = np.array([control.low for control in description.controls])
high = np.array([control.high for control in description.controls])
steps = max(1, round(APPROACH_S * description.control_hz))
random = np.random.default_rng(SEED)
target = env.observe(fields=["commanded"]).fields["commanded"] if "commanded" in description.fields else None
terminal = None
while terminal is None:
    start, target = target, random.uniform(low, high)
    way = np.linspace(target if start is None else start, target, steps + 1)[1:]
    terminal = env.step(np.clip(way, low, high)).terminal
