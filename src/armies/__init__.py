"""Armies: a two-player board game of hidden ranks and its self-play trainer.

Rules and learning follow the public research line of arXiv 2511.07312. One transition can be followed through
the modules in this order: ``engine`` (the game) → ``collect`` (play) → ``advantage`` (what was it worth) →
``update`` (learn), with ``network`` in the middle and ``train`` as the loop around them. ``rollout`` is what
passes from play to learning. ``paths`` says which ways of computing the same there are, ``presets`` how large a
training is. A board is one entry of ``variants``, a training on it one entry of ``presets``.
"""
