"""Leaks of Transformers over all inputs, against sums over inputs that are written out."""

from itertools import combinations, product
from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pytest
from made_up_students import CLAIMS
from made_up_transformers import leaks

from minicosm.lab.audit import audit_claim
from minicosm.studies.distillation import STUDY, leak_trials, transformer_trials
from minicosm.studies.distillation.experiments import attention, exact_leaks
from minicosm.theory.distillation import sign_cube

MAKERS = (leak_trials.leaks, transformer_trials.attention)


def by_hand(values, inputs, support, degree):
    """Mean `|E f prod_{j in U} x_j|` over sets U inside the support, and over all others."""
    found = {True: [], False: []}
    for chosen in combinations(range(len(inputs[0])), degree):
        total = sum(
            v * np.prod([x[j] for j in chosen]) for v, x in zip(values, inputs, strict=True)
        )
        found[set(chosen) <= set(support)].append(abs(total / len(inputs)))
    return [np.mean(found[True]), np.mean(found[False])]


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_correlations_over_the_cube_and_over_a_sample_are_those_of_sums(degree):
    draw, support = np.random.default_rng(degree), (0, 2, 3)
    sample = draw.choice([-1.0, 1.0], (20, 5))
    for x in (sign_cube(5), sample):
        said = draw.uniform(size=(2, len(x)))
        expected = [by_hand(row, x.tolist(), support, degree) for row in said]
        found = exact_leaks.means(said, x, support, degree)
        np.testing.assert_allclose(found.T, expected, atol=1e-12)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run at the smallest size: what it returned, what its teachers were and said at every step, and as
    which models they began."""
    config = leak_trials.leaks("smoke", 0)["leaks"].config
    folder = tmp_path_factory.mktemp("teachers")
    seen = SimpleNamespace(config=config)
    teachers, fresh = attention._teachers, attention.fresh

    def started(*given):
        seen.start = fresh(*given)
        return seen.start

    def recorded(*given):
        seen.found = teachers(*given)
        return seen.found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "fresh", started)
        patch.setattr(exact_leaks, "_teachers", recorded)
        patch.setattr(exact_leaks, "LEVELS", (0.0, 0.0, 0.97))  # its first step is the middle
        seen.result = exact_leaks.run(config, lambda *_: None, folder)
    return seen


def test_teachers_are_asked_about_all_inputs(trained):
    config, result = trained.config, trained.result
    inputs = [[1 - 2 * bit for bit in bits] for bits in product((0, 1), repeat=config.d)]
    bits = (1 - np.array(inputs)) // 2
    trajectory, _ = trained.found

    @eqx.filter_jit
    def say(model):
        return jax.nn.softmax(jax.vmap(lambda row: model.logits(model.embed(row))[-1])(bits))[:, 0]

    for moment, models in enumerate((trained.start, trajectory.take(0))):
        for i in range(config.seeds):
            model = jax.tree.map(lambda a, i=i: a[i] if eqx.is_array(a) else a, models)
            expected = by_hand(np.asarray(say(model), float), inputs, range(config.k), 1)
            found = [result.arrays[name][moment, i, 0] for name in ("on", "off")]
            np.testing.assert_allclose(found, expected, atol=1e-6)
    assert result.numbers["inputs"] == 2**config.d
    assert result.numbers["middle"] == [config.chunk] * config.seeds


def test_a_teacher_without_a_transition_has_no_leak_and_many_inputs_are_drawn(
    trained, monkeypatch, tmp_path
):
    monkeypatch.setattr(exact_leaks, "_teachers", lambda *_: trained.found)
    monkeypatch.setattr(exact_leaks, "MOST_DIMENSIONS", 5)
    config = leak_trials.leaks("smoke", 0, tests=32)["leaks"].config
    result = exact_leaks.run(config, lambda *_: None, tmp_path)
    assert result.numbers["inputs"] == 32
    for name in ("on", "off"):
        assert np.isfinite(result.arrays[name][0]).all()
        never = [middle is None for middle in result.numbers["middle"]]
        assert np.isnan(result.arrays[name][1]).all(axis=-1).tolist() == never


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_teachers_are_those_of_the_other_claims(profile):
    (ours,), (theirs,) = (make(profile, 3).values() for make in MAKERS)
    assert ours.config == theirs.config


def test_the_audit_finds_nothing():
    found = audit_claim(STUDY, CLAIMS["attention-leak"], leaks())
    assert found.verdict == "holds" and not found.findings
    assert {"fails", "undecided"} <= set(found.reached)
