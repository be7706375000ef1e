"""The words of the field that a page uses, each explained in one line at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tachograph.record.markdown import text

# Term, where it stands on a page (a regular expression; the page escapes _ and *), and what it means.
# The meanings are those of the method: statistics.md, sections 3.1 to 3.6.
WORDS = (
    (
        "block",
        r"\bblocks?\b",
        "one run of each arm with the same seed, made one after the other; the unit of intervals",
    ),
    (
        "headline",
        r"\bheadline\b",
        "the factor that the decision rests on: of the stage, after warm-up, over all blocks",
    ),
    (
        "stage",
        r"## Stage table",
        "in a factor, the part of an iteration that the study is about; in a stage table, a step of that part",
    ),
    (
        "warm-up",
        r"\bwarm-up\b",
        "first iterations of each run, which the headline leaves out; their number is registered",
    ),
    (
        "interval",
        r"% (t )?intervals?\b",
        "values that fit the spread of the runs; 95% of such 95% intervals hold the truth",
    ),
    (
        "uninformative",
        r"\buninformative\b",
        "two blocks only: the width of the interval rests on a single difference between them, and may be far off",
    ),
    ("n, t", r"\(n=\d+, t=", "blocks, and how many standard errors wide the interval is to either side of the factor"),
    ("unpaired", r"\bunpaired\b|\bWelch\b", "runs of the arms compared as groups, where not every block has both"),
    ("GAIN, NO GAIN", r"\bGAIN\b", "the interval of the headline lies above, or below, the least effect worth having"),
    ("UNRESOLVED", r"\bUNRESOLVED\b", "the interval holds the value in question, or there is none: neither yes nor no"),
    (
        "PROVISIONAL",
        r"\bPROVISIONAL\b",
        "a GAIN or NO GAIN that was measured under conditions which forbid to rely on it",
    ),
    ("NO VERDICT", r"\bNO VERDICT\b", "nothing can be said: the design was too small, or it could not be computed"),
    ("INVALID", r"\bINVALID\b", "a run did not pass its gates, or a factor is too good to be true; it gives no ratio"),
    ("INCONCLUSIVE", r"\bINCONCLUSIVE\b", "the curves were shown neither to differ nor to lie within their margins"),
    (
        "CONFIRMED, REFUTED",
        r"\bCONFIRMED\b|\bREFUTED\b",
        "the measured interval lies inside, or wholly outside, of the predicted one",
    ),
    ("margin", r"\bmargins?\b", "the registered difference of a curve that would still be called the same"),
    (
        "test D",
        r"\btest D\b",
        "can the arms' curves be told apart? Whole runs change their labels, all metrics at once",
    ),
    (
        "p, p_min",
        r"\bp = |p\\?_min",
        "share of the relabellings at least as extreme as what was seen; the smallest share that so many runs can give",
    ),
    (
        "test E",
        r"\btest E\b",
        "are the curves the same within their margins? Both one-sided tests, each metric and window",
    ),
    ("δ*", r"δ\\?\*", "the multiple of the registered margins at which test E would have passed; 1 or less passes"),
    (
        "early, mid, late",
        r"\| early +\|",
        "thirds of a run, unless the study names others; a metric that few iterations have is judged on those in them",
    ),
    ("α", r"α = ", "the registered error rate of these tests and intervals"),
    (
        "envelope",
        r"\benvelope\b",
        "the largest difference that the reference's own seeds show; a description and no test",
    ),
    ("A/A", r"\bA/A\b", "the reference against itself, same seed: what it differs by is noise, not an effect"),
    ("MSER", r"\bMSER\b", "a rule for warm-up: drop first iterations until the mean of the rest is most certain"),
    (
        "within-run precision",
        r"\bwithin-run precision\b",
        "what one run's iterations say of its own rate; runs differ by more",
    ),
    (
        "trend",
        r"\btrend of the duration\b",
        "change of an iteration's seconds from the first to the last one, by a fitted line",
    ),
    ("remark", r"\bremarks?\b", "what must be read with a factor; unlike a reservation it caps no verdict"),
    ("drift", r"\bdrift\b", "the machine becomes faster or slower while a study goes on, whatever the arm"),
    ("exposure", r"\bexposure\b", "seconds in which a best run could have been found; more of them find a better one"),
    ("≥", r"≥ ", "a lower bound: work of others could have slowed it down, and little could make it look faster"),
    (
        "one-off cost",
        r"\bone-off cost\b|\bwarm-up of .* costs once\b",
        "seconds of the warm-up, compilation included, beyond those of later iterations",
    ),
    (
        "costs once",
        r"\| +costs once +\|",
        "seconds of a candidate's start and compilation with the caches as they were, then with filled ones; in "
        "parentheses those of its arm",
    ),
    (
        "ahead after",
        r"\bahead after\b",
        "break-even: from how many iterations on a faster arm has made up for its one-off cost",
    ),
    (
        "Amdahl's law",
        r"\bAmdahl",
        "a part that takes the share s, made to cost nothing, makes the whole 1 / (1 - s) as fast",
    ),
    (
        "instrumented",
        r"\binstrumented\b",
        "timed with a wait for the device around each stage, which can slow the loop itself",
    ),
    ("remainder", r"\bremainder\b", "what no timer names: the whole less its timed parts"),
    (
        "TFLOP/s",
        r"\bTFLOP/s",
        "10¹² floating-point operations per second; a product of m × k and k × n numbers counts as 2·m·k·n",
    ),
    ("float64", r"\bfloat64\b", "the same computation in double precision, which the others are held against"),
    ("RMSE", r"\bRMSE\b", "root of the mean squared difference"),
    ("lease", r"\blease\b", "the lock on the device that each run holds, so that no other study measures beside it"),
    ("attempt", r"\battempts?\b", "one try at a planned run; the first valid one counts, all are kept"),
    ("cell", r"\bcells\b", "one measurement of a machine, in a process of its own"),
    (
        "held back",
        r"\bheld back\b",
        "measured while the host was busier than registered, so that it is no rate to rely on",
    ),
    (
        "soak",
        r"\bsoak\b",
        "many training steps on one batch, to see what time and heat do; of heat a short one tells little",
    ),
    (
        "WARN, INCOMPLETE",
        r"\bWARN\b|\bINCOMPLETE\b",
        "usable but for what is named; not all that was asked was measured",
    ),
)


# What a word means on the page of a machine study, where that is something else.
OF_A_MACHINE = {"block": "calls that are timed together, so many that the clock can tell their time"}


def words(page: str, meanings: Mapping[str, str] | None = None) -> str:
    """The list of those words that ``page`` (Markdown) uses, in the order of :data:`WORDS`; ``meanings`` go first."""
    own = meanings or {}
    return "\n".join(
        f"- **{text(term)}**: {text(own.get(term, meaning))}."
        for term, pattern, meaning in WORDS
        if re.search(pattern, page)
    )
