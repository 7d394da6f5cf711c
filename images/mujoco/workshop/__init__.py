"""The bench that families share: episodes in this process, and certificates of the reference agent. Not part of any
image."""
