"""The pages. Which one is shown, and of what, stands in the address: see :mod:`leaderboard.visit`."""
