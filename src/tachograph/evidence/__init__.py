"""From raw histories to the decision: reading, gates, throughput, stages, curves, verdicts.

Every function here takes data and returns data; nothing but :mod:`tachograph.evidence.history` opens a file.
"""
