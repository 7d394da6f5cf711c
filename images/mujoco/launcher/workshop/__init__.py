"""The scene designer's bench: checks one scene file and searches solutions on a proxy without arms.

It is no part of an episode and of no image: ``python -m images.mujoco.launcher.workshop A007``.
"""
