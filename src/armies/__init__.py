"""Armies: a Stratego-like board game played by its own trainer, after the public self-play line arXiv 2511.07312."""
