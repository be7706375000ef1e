"""Candidates: other ways to compute a part of the collection step, measured beside the path's own. None is used."""
