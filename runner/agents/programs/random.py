"""Random joint targets within the described limits, each held for a second of simulated time."""

import numpy as np

from images.client import connect

SEED = 0  # the runner puts the attempt's seed here

env = connect()
description = env.describe()
low = np.array([control.low for control in description.controls])
high = np.array([control.high for control in description.controls])
steps = max(1, round(description.control_hz))
random = np.random.default_rng(SEED)
terminal = None
while terminal is None:
    target = random.uniform(low, high)
    terminal = env.step(np.tile(target, (steps, 1))).terminal
