"""From the sealed files of a study to its numbers: one ``analysis.json`` that tables, figures and page are made of.

Each module computes one section of it. Nothing here knows a number that was not read from a sealed file, and a
section that cannot be computed says why instead of guessing.
"""
