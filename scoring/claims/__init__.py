"""Whether published figures can come from binary outcomes, and whether they agree with each other (``docs/claims.md``).

``rounding``: what one printed percentage can stand for. ``sums``: what a mean of several rates can be. ``check``,
``agree`` and ``counts``: the findings on a file of claims. Everything is decided in integers.
"""
