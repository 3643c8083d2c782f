"""Hostile calls of the theory of contrastive tasks: a bad argument meets one sentence that names it."""

import numpy as np
import pytest

from hostile import Call, array, count, faults, not_called, positive, probability, report, thing
from minicosm.theory import contrastive as theory
from minicosm.worlds.diffusions import LOG_COSH, GridDiffusion, Local, OrnsteinUhlenbeck

pytestmark = pytest.mark.usefixtures("unchecked_types")

LINE, OTHER = OrnsteinUhlenbeck(1.0, 0.5), OrnsteinUhlenbeck(1.5, 0.5)
GRID = GridDiffusion(LOG_COSH, 0.5, points=7)
P = np.array([[0.6, 0.4], [0.4, 0.6]])
Q = np.full((2, 2), 0.5)
LAW = np.full(2, 0.5)
LEARNED = np.array([[0.62, 0.38], [0.4, 0.6]])
FREE = (
    "entry -1",
    "entry 10**6",
    "plus .5",
    "one entry less",
    "tokens far outside",
    "tokens below zero",
)
NAMES = ("P", "truth", "law", "learned", "q")

line, grid, world = thing(LINE), thing(GRID), thing(LINE)
contrast = thing(Local(), names="contrast")
chain = {"P": array(P, names=NAMES), "law": array(LAW, names=NAMES), "q": array(Q, names=NAMES)}
several = count(1)
kernels = {
    "law": array(LAW, names=NAMES),
    "truth": array(P, names=NAMES),
    "learned": array(LEARNED, names=NAMES),
    "q": array(Q, names=NAMES),
}
starts = array(np.array([0.0, 1.0]), allows=FREE)
time = positive(1.0)._replace(allows=frozenset({"2.5"}))
large = positive(3.0)._replace(allows=frozenset({"2.5", "2**40", "2**70"}))
inside = probability(0.05)._replace(allows=frozenset())
mixing = theory.root_mixing(0.8)
quantities = theory.global_quantities(LINE, OTHER, Local())

CALLS = [
    *[Call(f, world=world) for f in (theory.equation_2_2, theory.equation_2_2_as_printed)],
    *[
        Call(f, **chain, i=several)
        for f in (theory.pair_mixing, theory.lemma_4, theory.lemma_4_as_printed)
    ],
    Call(theory.lemma_3, world=grid, contrast=contrast, i=count(1)),
    *[
        Call(f, world=world, starts=starts, time=time)
        for f in (theory.lemma_5, theory.lemma_5_as_printed)
    ],
    Call(theory.beta, world=line, time=time),
    Call(theory.generalisation_bound, mu=large, K=large, delta=inside),
    Call(
        theory.trajectory_length,
        mixing_time=thing(mixing, names="mixing_time"),
        K=large,
        delta=inside,
        gap=probability(0.1)._replace(allows=frozenset()),
    ),
    Call(theory.root_mixing, B=large),
    Call(theory.exponential_mixing, rho=large),
    Call(
        theory.exponent,
        mixing_time=thing(mixing, names="mixing_time"),
        K=large,
        delta=inside,
        gaps=thing((0.1, 0.01), names="gap"),
    ),
    Call(
        theory.printed_side,
        K=large,
        delta=inside,
        gap=probability(0.1)._replace(allows=frozenset()),
    ),
    Call(theory.theorem_1_proof_as_printed, K=large, delta=inside),
    Call(theory.lemma_1, world=grid, contrast=contrast, seed=count(1, allows=("0", "2**40"))),
    *[
        Call(f, **kernels)
        for f in (theory.comparison, theory.theorem_2, theory.theorem_2_sharper, theory.remark_1)
    ],
    Call(theory.c_q, world=line, contrast=contrast, radius=time),
    *[
        Call(f, world=line, other=thing(OTHER), contrast=contrast)
        for f in (theory.global_quantities, theory.theorem_3)
    ],
    Call(
        theory.scaled_ratio,
        found=thing(quantities),
        gap=probability(0.5)._replace(allows=frozenset({"True"})),
    ),
    Call(theory.moment_limit, d=count(1)),
    Call(
        theory.local_moment,
        gap=probability(0.1)._replace(allows=frozenset({"True"})),
        d=count(1),
        stiffer=large,
    ),
    Call(theory.lemma_6, world=world, c=large, C=large),
    Call(theory.price, world=line, contrast=contrast, loss=thing("squared")),
    Call(theory.optimal_loss, world=line, contrast=contrast),
]


def test_every_front_door_is_in_the_table():
    assert not not_called(theory, CALLS)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


def test_what_is_computed_in_one_dimension_says_so():
    plane = OrnsteinUhlenbeck(np.eye(2), 0.5)
    for function in (theory.price, theory.optimal_loss):
        with pytest.raises(ValueError, match="world has 2 dimensions"):
            function(plane, Local())
    with pytest.raises(ValueError, match="world has 2 dimensions"):
        theory.c_q(plane, Local(), 1.0)
    with pytest.raises(ValueError, match="world has 2 dimensions"):
        theory.lemma_6(plane, 4.0, 8.0)
    with pytest.raises(ValueError, match="world has 2 dimensions"):
        theory.beta(plane, 1.0)
    with pytest.raises(
        ValueError, match=r"other has the gap 0\.1; it must have that of world, 0\.5"
    ):
        theory.global_quantities(LINE, OrnsteinUhlenbeck(1.0, 0.1), Local())
