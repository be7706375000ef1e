"""Lost Cities: a two-player card game and its Deep CFR trainer (Brown et al. 2019, arXiv 1811.00164).

The trainer implements the rules of the game for research and is not connected with its publisher.
"""
