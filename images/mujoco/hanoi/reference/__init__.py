"""The reference agent of the Hanoi boards: planner, strategy, and one tool for each robot."""
