"""The bench of the Hanoi boards. Not part of any image."""
