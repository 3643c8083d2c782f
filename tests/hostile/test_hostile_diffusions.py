"""Diffusions, contrastive pairs and classifiers of pairs meet hostile arguments with one sentence."""

import jax.numpy as jnp
import numpy as np
import pytest

from hostile import Call, array, count, faults, key, number, positive, report, thing
from minicosm.training import trajectory_contrast as training
from minicosm.worlds import diffusions
from minicosm.worlds.diffusions import (
    LOG_COSH,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
    Table,
    contrastive_pairs,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

LINE = OrnsteinUhlenbeck(np.diag([1.0, 2.0]), 0.5)
GRID = GridDiffusion(LOG_COSH, 0.5, points=7)
FREE = ("entry -1", "entry 10**6", "plus .5", "one entry less")
X = np.array([[0.1, 0.2], [1.0, 0.0]])
time = positive(0.5, allows=("2**40",))._replace(allows=frozenset({"2.5", "True", "2**40"}))
POINTS = (*FREE, "one axis more", "array of four axes", "tokens far outside", "tokens below zero")
x = array(X, allows=POINTS, names=("x", "y"))
kernel = array(GRID.kernel)
line, grid = thing(LINE), thing(GRID)
contrast = thing(Local(), names="contrast")


def odds(x, y):
    return jnp.sum(x - y)


CALLS = [
    Call(
        OrnsteinUhlenbeck,
        stiffness=array(
            np.diag([1.0, 2.0]),
            allows=("2.5", "2**40", "2**70", "True", "entry 10**6", "plus .5"),
        ),
        gap=positive(0.5),
    ),
    Call(LINE.moments, time=positive(0.5, allows="None")),
    Call(LINE.sample, key=key(), length=count(3)),
    Call(LINE.log_stationary, x=x),
    Call(LINE.log_kernel, x=x, y=x),
    Call(
        GridDiffusion,
        potential=thing(LOG_COSH),
        gap=positive(0.5),
        points=count(7),
        radius=positive(3.6, names=("radius", "potential")),
    ),
    Call(GRID.kernel_after, time=time),
    Call(GRID.sample, key=key(), length=count(3)),
    Call(GRID.beta, time=time),
    Call(GRID.kl, kernel=kernel),
    Call(
        GRID.drift,
        kernel=array(GRID.kernel, allows="None"),
        least=number(1e-10)._replace(allows=frozenset({"0", "True"})),
    ),
    Call(GRID.naive_drift, kernel=array(GRID.kernel, allows="None")),
    Call(diffusions.contrast_moments, world=line, contrast=contrast),
    Call(diffusions.contrast_table, world=grid, contrast=contrast),
    Call(
        contrastive_pairs, world=line, contrast=contrast, length=positive(3.0)._replace(
            allows=frozenset({"2.5", "True"})
        ), key=key(),
    ),
    Call(
        training.ContrastiveObjective,
        pairs=thing(contrastive_pairs(LINE, Local(), 3.0, key().value)),
        batch=count(4),
        loss=thing("squared"),
    ),
    Call(training.Classifier, key=key(), dimension=count(1), width=count(4)),
    Call(
        training.plain_adam,
        rate=positive(0.1, allows="0", names="peak"),
        steps=count(3, allows=("2**40", "2**70")),
    ),
    Call(
        training.fit_classifier,
        world=grid,
        contrast=contrast,
        key=key(),
        length=positive(3.0)._replace(allows=frozenset({"2.5", "True"})),
        steps=count(1),
        batch=count(4),
        rate=positive(0.1, names="peak")._replace(allows=frozenset({"0", "2.5"})),
        width=count(4),
        loss=thing("squared"),
    ),
    Call(training.log_odds, world=grid, classifier=thing(odds)),
    Call(training.kernel_of, world=grid, contrast=contrast, classifier=thing(odds)),
    Call(training.excess_loss, world=grid, contrast=contrast, classifier=thing(odds)),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


@pytest.mark.parametrize(
    ("contrast", "said"),
    [
        (Gaussian(0.0, 0.0), "the variance of contrast is 0"),
        (Gaussian(float("nan"), 1.0), "the mean of contrast is nan"),
        (Local(-1.0), "the variance of contrast is -1"),
        (Table(np.eye(3)), "the rows of contrast has shape"),
        (Table(2 * np.eye(7)), "rows that are no laws"),
    ],
)
def test_a_contrast_law_that_is_none_is_named(contrast, said):
    with pytest.raises(ValueError, match=said):
        diffusions.contrast_table(GRID, contrast)


def test_stationary_and_local_laws_need_no_numbers():
    for contrast in (Stationary(), Local()):
        assert np.isfinite(diffusions.contrast_table(GRID, contrast)).all()
