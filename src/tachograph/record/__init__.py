"""The record of a study: a page for people, the same numbers as JSON, copies of all that they speak of, and a seal."""
