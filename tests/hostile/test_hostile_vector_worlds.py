"""Worlds whose observations are vectors, and masked tasks, meet hostile arguments with one sentence."""

import numpy as np
import pytest

import minicosm.worlds as worlds
from hostile import Call, array, count, faults, flag, key, number, report, thing
from minicosm.worlds import HMM, GaussianHMM, GaussianPredictor, MaskedTask

pytestmark = pytest.mark.usefixtures("unchecked_types")

A = np.array([[0.8, 0.2], [0.2, 0.8]])
M = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
GAUSSIAN = GaussianHMM(A, M)
HIDDEN = HMM(A, np.array([[0.7, 0.1], [0.3, 0.4], [0.0, 0.5]]), [0.5, 0.5])
FREE = ("entry -1", "entry 10**6", "plus .5", "one entry less")
OBSERVATIONS = array(np.array([[0.1, 0.2, 0.3], [1.0, 0.0, 0.5]]), allows=FREE, names="observed")
SEEN = {"observations": OBSERVATIONS, "observed": array([True, False], allows="None")}
LEAST = number(0.05, allows="0", names="least singular")
least = LEAST._replace(allows=frozenset({"0"}))

CALLS = [
    Call(GaussianHMM, A=array(A), M=array(M, allows=FREE), p0=array([0.5, 0.5], allows="None")),
    Call(GAUSSIAN.sample, key=key(), length=count(3)),
    Call(GAUSSIAN.log_likelihoods, observations=OBSERVATIONS),
    Call(GAUSSIAN.posterior, **SEEN),
    Call(GAUSSIAN.conditional_means, **SEEN),
    Call(GAUSSIAN.log_density, **SEEN),
    Call(GaussianPredictor, world=thing(GAUSSIAN), task=thing("x1,x3|x2")),
    Call(MaskedTask.parse, task=thing("x2,x3|x1")),
    Call(worlds.predictor, world=thing(HIDDEN), task=thing("x2,x3|x1")),
    Call(worlds.doubly_stochastic_world, key=key(), hidden=count(2), vocab=count(3), least=least),
    Call(
        worlds.gaussian_world,
        key=key(),
        hidden=count(2),
        dimension=count(3),
        unit=flag(True),
        least=least,
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("x2", 'must be written as "x2,x3|x1"'),
        ("x2|x2", "name every token once"),
        ("x0|x1", "positions must lie in 1..2000"),
        ("x1,x2,x3,x4,x5,x6|x7", "at most 6 tokens"),
    ],
)
def test_a_task_that_is_none_is_named(task, said):
    with pytest.raises(ValueError, match=said.replace("|", r"\|")):
        worlds.predictor(HIDDEN, task)


def test_a_predictor_says_what_points_it_needs():
    f = worlds.predictor(GAUSSIAN, "x2|x1,x3")
    with pytest.raises(ValueError, match="1 arrays of points are given; the task x2"):
        f(np.zeros((4, 3)))
    with pytest.raises(
        ValueError, match=r"points have shape \(4, 2\); they must have shape \(n, 3\)"
    ):
        f(np.zeros((4, 2)), np.zeros((4, 3)))
