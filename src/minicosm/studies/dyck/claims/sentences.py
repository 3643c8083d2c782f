"""Tolerances and sentences that claims about exact models share; the numbers are those of the theory.

They are written down here because importing the theory loads JAX, and claims have to be listed at once.
`tests/studies/dyck` compares them.
"""

import math

IDENTITY = 1e-9  # of identities in double precision
ROUNDING = 1e-6  # of predictions of constructed models
PRINTED = 1e-3  # by how much a printed form has to be off to count as wrong
ACCURACY = 1e-4  # the eps of Theorem 2.2.3
UNITS = 709  # hidden units of a matrix that suffice for it
UNCHANGED = 1e-12  # of outputs when a layer is planted


def power(number: float) -> str:
    """A power of ten, typeset: `$10^{-9}$`."""
    return f"$10^{{{round(math.log10(number))}}}$"


EXACT = (
    f"No next-token probability is off by more than {power(ROUNDING)} after any prefix of the drawn "
    "strings."
)
