"""KidGym: twelve grid tasks for children, three levels each (first text of the KidGym benchmark, tasks and levels).

``tasks`` holds the rules, ``generate`` draws episodes from seeds, ``episode`` plays one, ``draw`` makes its pictures,
``solve`` finds shortest solutions and exact chances, ``gym`` is the Gymnasium interface.
"""
