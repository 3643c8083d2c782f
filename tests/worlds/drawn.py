"""Hypothesis strategies for small worlds with zeros, ties, equal columns and every edge size."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minicosm.worlds import HMM, MemoryHMM

HMM_SIZES = [(1, 1, 1), (2, 3, 1), (3, 2, 4), (4, 4, 3), (3, 1, 2)]  # hidden, vocab, T
MEMORY_SIZES = [  # values, cells, syntax, vocab, T
    (1, 1, 1, 1, 1),
    (3, 1, 2, 3, 1),
    (2, 1, 2, 3, 3),
    (2, 2, 2, 3, 2),
    (2, 3, 1, 2, 3),
]


@st.composite
def stochastic(draw, *shape: int) -> np.ndarray:
    """Columns (axis 0) that sum to one: small whole weights (zeros, ties) or skewed Dirichlet."""
    if draw(st.booleans()):
        weights = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 3))).astype(float)
        weights[0] += weights.sum(axis=0) == 0
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        weights = rng.gamma(0.3, size=shape) + 1e-12
    if len(shape) > 1 and shape[-1] > 1 and draw(st.booleans()):
        weights[..., -1] = weights[..., 0]
    return weights / weights.sum(axis=0)


@st.composite
def hmms(draw, hidden: int, vocab: int) -> HMM:
    return HMM(
        draw(stochastic(hidden, hidden)), draw(stochastic(vocab, hidden)), draw(stochastic(hidden))
    )


@st.composite
def memory_hmms(draw, values: int, cells: int, syntax: int, vocab: int) -> MemoryHMM:
    hidden = cells * syntax
    return MemoryHMM(
        draw(stochastic(hidden, hidden)),
        draw(stochastic(vocab, values, cells, syntax)),
        draw(stochastic(values**cells)),
        draw(stochastic(hidden)),
    )


def token_arrays(vocab: int, length: int):
    return hnp.arrays(np.int64, length, elements=st.integers(0, vocab - 1))


def masks(length: int):
    return hnp.arrays(bool, length)
