"""Hostile calls of the theory of noise-contrastive estimation: a bad argument meets one sentence."""

import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, not_called, positive, report, thing
from minicosm.theory import nce
from minicosm.theory.nce import Contrast
from minicosm.worlds import FiniteFamily, GaussianMean

pytestmark = pytest.mark.usefixtures("unchecked_types")

SMALL = FiniteFamily(np.array([[-1.0], [0.0], [1.0]]), np.ones(3), [0.4], [-0.2])
TWICE = FiniteFamily(
    np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]), np.ones(3), [0.4, 0.1], [0.0, 0.0]
)
LOSS, EXPONENTIAL = Contrast(SMALL), Contrast(SMALL, "exponential")
LINE = Contrast(GaussianMean(2.0), nodes=201)
PATH = nce.descend(LOSS, "gd", 0.5, steps=3)
NUMBERS = ("entry -1", "entry 10**6", "plus .5")
PAIR = ("tokens far outside", "tokens below zero")
NODES = {"nodes": count(201)}
RING = {"radii": count(2), "angles": count(5), **NODES}

world, gaussian = thing(SMALL), thing(GaussianMean(2.0))
loss, exponential = thing(LOSS), thing(EXPONENTIAL)
tau = array(np.array([0.1, 0.7]), allows=(*NUMBERS, *PAIR))
start = array(np.array([0.1, 0.7]), allows=("None", *NUMBERS, *PAIR))
taus = array(np.array([[0.1, 0.7], [0.3, 1.0]]), allows=("one entry less", *NUMBERS))
thetas = array(np.array([[0.1], [0.3]]), allows=("one entry less", *NUMBERS))
most = count(300, allows="2**40")
delta = positive(0.3)
optional = positive(0.3, allows="None")

CALLS = [
    Call(
        Contrast,
        world=world,
        kind=thing("nce"),
        nodes=count(201),
    ),
    *[
        Call(getattr(LOSS, name), tau=tau)
        for name in ("loss", "log_loss", "gradient", "direction", "hessian", "condition")
    ],
    Call(nce.constants, world=world, thetas=thetas),
    Call(nce.segment, world=world, points=count(3)),
    Call(nce.directions, count=count(4), size=count(3)),
    Call(nce.ring, world=gaussian, radii=count(2), angles=count(5)),
    Call(nce.neighbourhood, contrast=loss, radius=delta, radii=count(2), angles=count(5)),
    Call(
        nce.descend,
        contrast=loss,
        method=thing("ngd"),
        rate=delta,
        start=start,
        steps=count(3, allows="0"),
        precision=thing("float64"),
        scaled=flag(True),
    ),
    Call(
        nce.steps_to,
        contrast=loss,
        method=thing("gd"),
        rate=delta,
        radius=positive(0.5),
        start=start,
        most=count(3, allows="2**40"),
    ),
    Call(PATH.first_within, radius=delta),
    *[
        Call(getattr(nce, name), world=gaussian, **NODES)
        for name in (
            "proposition_7",
            "proposition_7_as_printed",
            "lemma_46",
            "lemma_47",
            "lemma_48",
            "lemma_48_as_printed",
        )
    ],
    Call(nce.proposition_8, world=gaussian, delta=delta, angles=count(3), **NODES),
    Call(nce.lemma_47_as_printed, near=gaussian, far=thing(GaussianMean(3.0)), **NODES),
    *[
        Call(getattr(nce, name), world=gaussian, **RING)
        for name in ("lemma_49", "lemma_49_as_printed", "figure_4_1", "theorem_18_inequality")
    ],
    Call(nce.claim_6, world=gaussian, taus=taus, **NODES),
    Call(nce.lemma_50, world=gaussian, taus=taus, rate=positive(0.04), **NODES),
    Call(nce.theorem_18_inequality_as_printed, world=gaussian, taus=taus, rate=delta, **NODES),
    Call(
        nce.free_partition,
        world=gaussian,
        thetas=array(np.array([0.1, 0.5]), allows=("one entry less", *NUMBERS, *PAIR)),
        **NODES,
    ),
    Call(nce.lemma_44, contrast=loss, taus=taus),
    Call(nce.lemma_44_dependent, contrast=thing(Contrast(TWICE))),
    Call(nce.lemma_45, contrast=loss, taus=taus),
    Call(nce.lemma_52, world=world),
    Call(nce.lemma_53, contrast=exponential),
    Call(nce.lemma_54, contrast=exponential, angles=count(4)),
    Call(nce.lemma_54_as_printed, contrast=exponential),
    Call(nce.lemma_60, world=world),
    Call(nce.lemma_60_as_printed, world=world),
    Call(nce.lemma_61, contrast=loss, lipschitz=optional, angles=count(4)),
    Call(nce.lemma_61_as_printed, contrast=loss, lipschitz=optional, angles=count(4)),
    Call(nce.curvature, world=gaussian, points=count(3), **NODES),
    Call(nce.theorem_17, world=gaussian, rate=positive(0.5, allows="None"), most=most, **NODES),
    Call(nce.theorem_18, world=gaussian, most=most, **NODES),
    Call(nce.newton_undamped, world=gaussian, most=count(30, allows="2**40"), **NODES),
    Call(nce.lemma_51, contrast=loss, delta=delta, near=taus, far=taus, gamma=optional),
    Call(nce.theorem_19, contrast=loss, delta=delta, beta=positive(2.0, allows=("None",))),
    Call(nce.theorem_21, contrast=exponential, delta=delta),
    Call(nce.corollary_2, contrast=thing(LINE), delta=positive(0.5)),
    Call(nce.theorem_20_bound, world=gaussian, **NODES),
]  # fmt: skip


def test_every_front_door_is_in_the_table():
    assert not not_called(nce, CALLS)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
