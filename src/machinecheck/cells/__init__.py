"""The cells: each function here measures one thing and returns its numbers, without judging them.

A cell's keyword parameters are its settings; their defaults and types make the command line.
"""
