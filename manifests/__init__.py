"""Policy and catalog as data, their schemas and look-ups.

``load`` reads and checks the files, ``lookup`` answers questions about them (tasks of a subset, budget, engine,
conditions, outcome of a cause), ``tasks`` gives what the command line lists, ``records`` is the schema of an attempt.
Importing them is cheap: pydantic is imported when a manifest is read.
"""
