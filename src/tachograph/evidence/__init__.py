"""From raw histories to the decision. Functions take data and return data; only ``history`` opens a file.

Reading: ``history`` (what a trainer wrote, and what is wrong with it) over ``lines``, ``jsonl``, ``csvrows``,
``logrows``, ``sparserows``, ``columns``, ``sessions``, ``clocks`` and ``findings``; ``ingest`` reports it; ``said``
tells what a trainer says really ran.
Counting: ``gates`` (does a run count?).
Speed: ``throughput``, ``interval``, ``warmup``, ``order``; second to them ``withinrun``, ``drift``,
``variance``, ``placebo``, ``bestof``, ``contention``, ``cost``.
Where time goes: ``profile``, ``stages`` (of a step), ``phases`` (of an iteration), ``excess`` and ``breakdown``
(of an evaluation), ``sweep`` (of batches), ``overlap``, ``amdahl``.
Learning: ``curves``, ``difference`` (test D), ``equivalence`` (test E), ``envelope``, ``parity``.
Words: ``verdicts``, ``decision``, ``candidates``, ``design`` (what a plan can decide), ``judging``.
Randomness: ``randomness`` (a generator that a reader of the record can draw from again).
"""
