"""Armies: a Stratego-like game and its self-play trainer, after the public line of arXiv 2511.07312."""
