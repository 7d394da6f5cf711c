"""Calls to a model on the host side: what is asked, what comes back, what it costs, what went wrong.

``base`` is the contract that agents are written against. litellm is imported by :mod:`runner.models.library` alone, and
only when a model is named; nothing of it, of a key or of the host's environment leaves this package.
"""
