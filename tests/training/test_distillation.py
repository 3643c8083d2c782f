"""Distillation: curricula on small integers, losses against definitions, replay against label training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.special import softmax

from minicosm.training import (
    LABELS,
    Curriculum,
    Distilled,
    SignVectors,
    Trajectory,
    equal_split,
    fit,
    fit_ensemble,
    kappa_split,
    keeping,
    labels_only,
    one_shot,
    progressive,
    soft_targets,
    stacked,
    steps_to,
    transition,
    two_shot,
)
from minicosm.worlds import SparseParity

WORLD = SparseParity(6, 2)
TASK = SignVectors(WORLD)
SGD = optax.sgd(0.05)


def mlp(seed, width=4, classes=2):
    return eqx.nn.MLP(6, classes, width, 1, key=jax.random.key(seed))


class Perfect(eqx.Module):
    """A teacher that knows the label."""

    scale: jax.Array

    def __call__(self, x):
        return self.scale * x[0] * x[1] * jnp.array([1.0, -1.0])


def follow(curriculum, steps):
    return [int(i) for i in curriculum.at(np.arange(steps))]


@pytest.mark.parametrize(
    ("curriculum", "wanted"),
    [
        (labels_only(), [LABELS] * 6),
        (one_shot(4), [3] * 6),
        (two_shot(1, 2, 3), [1, 1, 3, 3, 3, 3]),
        (two_shot(1, 2, LABELS), [1, 1, LABELS, LABELS, LABELS, LABELS]),
        (progressive([0, 2, 3], 2), [0, 0, 2, 2, 3, 3]),
        (equal_split([0, 1, 2], 7), [0, 0, 1, 1, 2, 2]),
        (kappa_split([0, 1, 2, 3], 0.5, 16, 6), [0, 0, 1, 1, 3, 3]),  # 2 does not fit
        (kappa_split([0, 1, 2, 3], 0.1, 16, 6), [3] * 6),  # less than a step each: one-shot
        (kappa_split([0, 1], 1.0, 4, 2), [1] * 6),  # the last has a step at least
        (kappa_split([0, 1], 1.0, 4, 3), [0, 0, 1, 1, 1, 1]),
        (Curriculum([0, 5], [3]).among([0, 5], 4), [0, 0, 0, 1, 1, 1]),
    ],
)  # fmt: skip
def test_curricula_say_whom_to_follow(curriculum, wanted):
    assert follow(curriculum, 6) == wanted


@pytest.mark.parametrize("tau", [0.0, 1e-4, 1e-2, 1.0, 3.0])
def test_soft_targets_are_softmaxes_and_cold_ones_the_likeliest_class(tau):
    logits = np.array([[0.3, -0.1, 0.3], [-2.0, 1.0, 0.9]])
    wanted = np.eye(3)[[0, 1]] if tau <= 1e-3 else softmax(logits / tau, axis=-1)
    np.testing.assert_allclose(soft_targets(logits, tau), wanted, atol=1e-6)


def test_the_loss_is_the_divergence_from_the_teacher():
    teacher, student = mlp(1), mlp(2)
    loss = Distilled(SignVectors(WORLD, batch=5), one_shot(1), stacked([teacher]), 0.7)
    key = jax.random.key(3)
    value, metrics = eqx.filter_jit(loss)(student, key, 0)
    batch = jax.jit(SignVectors(WORLD, batch=5).draw)(key)
    answers = eqx.filter_jit(lambda model: jax.vmap(model)(batch.signs))
    p = softmax(np.asarray(answers(teacher)) / 0.7, axis=-1)
    q = softmax(np.asarray(answers(student)), axis=-1)
    assert float(value) == pytest.approx((p * np.log(p / q)).sum(axis=-1).mean(), rel=1e-4)
    right = q.argmax(axis=-1) == np.asarray(batch.label)
    assert float(metrics["accuracy"]) == pytest.approx(right.mean())


def test_one_shot_from_a_perfect_teacher_without_heat_is_label_training_bit_by_bit():
    teacher = stacked([Perfect(jnp.ones(()))])
    runs = [
        fit(loss, mlp(0), SGD, 40, jax.random.key(5), chunk=20)[0]
        for loss in (
            Distilled(TASK, labels_only(), block=10),
            Distilled(TASK, one_shot(1), teacher, 0.0, block=10),
            Distilled(TASK, Curriculum([LABELS]), teacher, 1.0, block=10),
        )
    ]
    for other in runs[1:]:
        for one, two in zip(jax.tree.leaves(runs[0]), jax.tree.leaves(other), strict=True):
            if eqx.is_array(one):
                np.testing.assert_array_equal(one, two)


def test_prepared_steps_are_those_that_the_loss_would_draw_alone():
    teachers = stacked([mlp(1), mlp(2)])
    loss = Distilled(TASK, two_shot(0, 4, 1), teachers, 1.0, block=2)
    student = mlp(0)
    prepared, _ = fit(loss, student, SGD, 8, jax.random.key(5), chunk=4)
    alone, _ = fit(lambda m, k, i: loss(m, k, i), student, SGD, 8, jax.random.key(5))
    for one, two in zip(jax.tree.leaves(prepared), jax.tree.leaves(alone), strict=True):
        if eqx.is_array(one):
            np.testing.assert_allclose(one, two, atol=1e-6)


def test_trajectories_hold_what_training_passed_through_and_ensembles_their_members():
    keys = jax.random.split(jax.random.key(1), 3)
    models = stacked([mlp(i) for i in range(3)])
    loss = Distilled(TASK, labels_only(), block=5)
    many = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (3, *np.shape(leaf))), loss)
    watch = keeping(lambda params, done: {"seen": done})
    last, history = fit_ensemble(many, models, SGD, 20, keys, chunk=5, watch=watch)
    kept = Trajectory.of(history, last)
    assert kept.steps.tolist() == [5, 10, 15, 20] and history["seen"].tolist() == [5, 10, 15, 20]
    half, _ = fit_ensemble(many, models, SGD, 10, keys, chunk=5)
    for one, two, end in zip(*(jax.tree.leaves(eqx.filter(t, eqx.is_array))
                               for t in (kept.at(10), half, last)), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, two)
        assert (np.asarray(one) != np.asarray(end)).any()
    member = kept.member(1)
    x = jnp.ones(6)
    np.testing.assert_array_equal(member.at(20)(x), eqx.filter_vmap(lambda m: m(x))(last)[1])
    distilled = Distilled.of(TASK, member, two_shot(1, 5, 3), block=5)
    assert jax.tree.leaves(eqx.filter(distilled.teachers, eqx.is_array))[0].shape[0] == 2


def test_transitions_are_first_crossings():
    steps, curve = np.array([10, 20, 30, 40]), np.array([0.5, 0.8, 0.7, 0.98])
    assert transition(steps, curve) == (20, 20, 40)
    assert transition(steps, np.append(curve[:3], 0.9)) == (20, 20, None)
    both = np.stack([curve, np.full(4, 0.5)], axis=1)
    assert steps_to(steps, both, 0.75).tolist() == [20, np.inf]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distilled(TASK, one_shot(1)), "teachers is None"),
        (lambda: Distilled(TASK, one_shot(3), stacked([mlp(0)])), "follows the checkpoint 2; teachers has 1"),
        (lambda: Distilled(TASK, two_shot(0, 3, 1), stacked([mlp(0)] * 2), block=2), "no multiple of block"),
        (lambda: Distilled(TASK, labels_only(), temperature=-1.0), "temperature is -1.0"),
        (lambda: eqx.filter_eval_shape(
            Distilled(TASK, one_shot(1), stacked([mlp(0, classes=3)])), mlp(1), jax.random.key(0), 0),
         "the teacher answers with 3 classes and the student with 2"),
        (lambda: progressive([], 5), "checkpoints is empty"),
        (lambda: kappa_split([], 0.5, 4, 4), "checkpoints is empty"),
        (lambda: Trajectory.of({"step": np.arange(2)}, mlp(0)), "no checkpoints of these params"),
        (lambda: fit(Distilled(TASK, labels_only(), block=3), mlp(0), SGD, 4, jax.random.key(0), chunk=4),
         "chunk is 4; it must be a multiple of 3"),
    ],
)  # fmt: skip
def test_bad_input_meets_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
