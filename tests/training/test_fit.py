"""The training loop against a plain Python loop, and members of an ensemble against solo runs."""

import sys
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from runs import OPTIMISER, Neighbours, alone, ensemble, make_world, objective, transformer

from minicosm.training import (
    Diverged,
    adam,
    adamw,
    fit,
    fit_ensemble,
    muon,
    warmup_cosine,
    warmup_linear,
)
from minicosm.training.averaging import averaged
from minicosm.training.progress import note
from minicosm.training.schedules import adafactor


class Regression(eqx.Module):
    """Least squares on a random minibatch; the data are fields, so they can be stacked."""

    x: jax.Array
    y: jax.Array

    def __call__(self, params, key, step):
        rows = jax.random.randint(key, (4,), 0, self.y.shape[0])
        error = self.x[rows] @ params["w"] + params["b"] - self.y[rows]
        return jnp.mean(error**2), {"worst": jnp.max(jnp.abs(error))}


def problem(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 3)).astype(np.float32)
    return Regression(jnp.asarray(x), jnp.asarray(x @ np.array([1.0, -2, 0.5], np.float32)))


START = {"w": jnp.zeros(3), "b": jnp.zeros(())}
SGD = optax.sgd(0.1)  # one object, so that equal runs compile once


def test_equals_a_plain_loop_with_the_same_keys():
    loss, optimiser, key = problem(0), adam(0.1, 7, 2), jax.random.key(3)
    params, history = fit(loss, START, optimiser, 7, key, chunk=3)

    @jax.jit
    def one_step(params, state, step):
        value_and_gradient = jax.value_and_grad(loss, has_aux=True)
        (value, _), gradient = value_and_gradient(params, jax.random.fold_in(key, step), step)
        updates, state = optimiser.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    expected, state, losses = START, optimiser.init(START), []
    for step in range(7):
        expected, state, value = one_step(expected, state, step)
        losses.append(float(value))
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-5)
    np.testing.assert_array_equal(history["step"], [3, 6, 7])
    means = [np.mean(losses[:3]), np.mean(losses[3:6]), losses[6]]
    np.testing.assert_allclose(history["loss"], means, rtol=1e-5)


def test_does_not_depend_on_the_chunk_and_reports_progress():
    reports = []
    a, _ = fit(problem(0), START, SGD, 8, jax.random.key(0), chunk=8)
    b, _ = fit(
        problem(0), START, SGD, 8, jax.random.key(0), chunk=4,
        progress=lambda done, total: reports.append((done, total)),
    )  # fmt: skip
    np.testing.assert_array_equal(a["w"], b["w"])
    assert reports == [(4, 8), (8, 8)]


def test_a_transformer_is_the_same_bit_by_bit_for_every_chunk():
    """Also for one step at a time, which a compiler that knew it would take out of its loop."""
    key, loss = jax.random.key(0), objective(make_world(0))
    start = jax.jit(transformer)(key)
    runs = [fit(loss, start, OPTIMISER, 12, key, chunk=chunk)[0] for chunk in (1, 5, 12)]
    for leaves in zip(*map(jax.tree.leaves, runs), strict=True):
        for leaf in leaves[1:]:
            np.testing.assert_array_equal(leaf, leaves[0])


def test_a_member_of_an_ensemble_is_trained_as_if_alone():
    problems, keys = [problem(i) for i in range(3)], jax.random.split(jax.random.key(1), 3)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)
    starts = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), START)
    optimiser = adam(0.05, 20, 5)
    together, history = fit_ensemble(stacked, starts, optimiser, 20, keys, chunk=10)
    assert history["loss"].shape == (2, 3)
    for i, one in enumerate(problems):
        alone, _ = fit(one, START, optimiser, 20, keys[i], chunk=10)
        np.testing.assert_allclose(together["w"][i], alone["w"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", [Neighbours, pytest.param(transformer, marks=pytest.mark.long)])
def test_a_language_model_of_an_ensemble_is_the_one_trained_alone(kind):
    """Another world for each member; in double precision parameters agree to 1e-8 after 12 steps of
    AdamW, and so do losses: only the order of sums differs."""
    with jax.enable_x64(True):
        together, history = ensemble(kind)
        model, alone_history = alone(5, model=kind)
    for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(together), strict=True):
        np.testing.assert_allclose(a, b[5], atol=1e-8)
    for name in ("loss", "excess", "tv"):
        np.testing.assert_allclose(alone_history[name], history[name][:, 5], atol=1e-8)
    assert np.ptp(history["loss"][-1]) > 0.01  # the worlds do differ


def test_training_ends_when_every_member_has_reached_the_target():
    """Distances 1 and 3 fall by half a step of 0.25 each: the second member needs more chunks."""

    def run(target, steps=40):
        loss = lambda x, key, step: (jnp.abs(x), {"distance": jnp.abs(x)})  # noqa: E731
        keys = jax.random.split(jax.random.key(0), 2)
        start = jnp.array([1.0, 3.0])
        return fit_ensemble(loss, start, optax.sgd(0.25), steps, keys, chunk=2, target=target)

    _, history = run({"distance": 0.4})
    far = 3.0 - 0.25 * np.arange(40)
    chunks = far.reshape(20, 2).mean(axis=1)
    assert history["step"][-1] == 2 * (1 + np.argmax(chunks <= 0.4))
    np.testing.assert_allclose(history["distance"][:, 1], chunks[: len(history["step"])], atol=1e-6)
    assert len(run({"distance": -1.0})[1]["step"]) == 20
    with pytest.raises(ValueError, match="target names the metric 'excess'; this loss has step"):
        run({"excess": 0.1})


def test_the_note_holds_losses_speed_and_time_left():
    row = {"loss": np.array([1.0, 2.0]), "excess": np.array([0.25, 0.75])}
    row["tokens"] = np.array([300.0, 300.0])  # each of two members reads 300 tokens a step
    assert note(row, length=10, seconds=2.0, left=400) == (
        "loss 1.5000, excess 0.5000, 3,000 tokens/s, 1 min 20 s left"
    )
    notes = []
    report = lambda done, steps, note: notes.append(note)  # noqa: E731
    fit(problem(0), START, SGD, 8, jax.random.key(0), chunk=4, progress=report)
    assert len(notes) == 2 and notes[1].startswith("loss ") and notes[1].endswith("0 s left")


def test_gradients_are_clipped_by_their_norm_over_all_parameters():
    """After the clipping both gradients are (.6, .8), so AdamW does the same with them."""
    start = {"a": jnp.zeros(1), "b": jnp.zeros(1)}
    optimiser = adamw(0.1, 10, 0, clip=1.0)
    first, second = (
        jax.jit(lambda g: optimiser.update(g, optimiser.init(start), start)[1])(
            {"a": np.full(1, 3.0 * s, np.float32), "b": np.full(1, 4.0 * s, np.float32)}
        )
        for s in (1, 100)
    )
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    with pytest.raises(ValueError, match="clip is 0"):
        adamw(0.1, 10, 0, clip=0.0)


def test_only_the_trainable_leaves_move():
    trainable = {"w": True, "b": False}
    params, _ = fit(problem(0), START, SGD, 5, jax.random.key(0), trainable=trainable)
    assert float(params["b"]) == 0
    assert np.abs(params["w"]).min() > 0


def test_rates_may_differ_between_parts():
    gradient = {"w": jnp.ones(3), "b": jnp.ones(())}
    optimiser = adam({"w": 0.1, "b": 0.3}, 10, 0)
    updates, _ = optimiser.update(gradient, optimiser.init(START), START)
    np.testing.assert_allclose(updates["w"], -0.1, rtol=1e-5)  # Adam's first step is its rate
    np.testing.assert_allclose(updates["b"], -0.3, rtol=1e-5)


def test_schedule_rises_and_falls_linearly():
    rate = warmup_linear(0.01, 4000, 500)
    for step, expected in ((0, 0), (250, 0.005), (500, 0.01), (2250, 0.005), (4000, 0)):
        assert float(rate(step)) == pytest.approx(expected, abs=1e-9)


def test_cosine_schedule_rises_linearly_and_falls_along_a_cosine():
    rate = warmup_cosine(0.01, 4000, 500)
    quarter = 0.005 * (1 + np.cos(np.pi / 4))
    for step, expected in (
        (0, 0),
        (250, 0.005),
        (500, 0.01),
        (1375, quarter),
        (2250, 0.005),
        (4000, 0),
    ):
        assert float(rate(step)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("once", "first"), [(True, 3), (False, 0)])
def test_a_loss_that_is_not_a_number_ends_training_at_its_step(once, first, tmp_path):
    """Once, in the second of three chunks; or infinite at every step, from the first on."""

    def loss(x, key, step):
        return x * 0 + jnp.where(
            (step == first) | (not once), jnp.nan if once else jnp.inf, 1.0
        ), {}

    key, path = jax.random.key(0), tmp_path / "run.npz"
    run = {"chunk": 2, "checkpoint": path}
    with pytest.raises(Diverged, match=f"NaN or infinite, first at step {first}:") as raised:
        fit(loss, jnp.ones(()), SGD, 6, key, **run)
    assert raised.value.step == first and raised.value.members is None
    assert path.exists() == once  # what was good before is kept
    _, history = fit(loss, jnp.ones(()), SGD, 6, key, chunk=2, finite=False)
    assert np.isfinite(history["loss"]).tolist() == [once, False, once]


def test_what_was_watched_before_it_diverged_is_kept():
    def loss(x, key, step):
        return jnp.where(step < 3, x, jnp.nan), {}

    with pytest.raises(Diverged) as raised:
        watch = {"watch": lambda x, done: {"seen": np.asarray(x)}}
        fit(loss, jnp.ones(()), SGD, 6, jax.random.key(0), chunk=2, **watch)
    assert np.isfinite(raised.value.history["seen"]).tolist() == [True, False]


def test_the_members_that_diverged_are_named():
    def loss(x, key, step):
        return jnp.where(x < 0, jnp.nan, x), {}

    keys = jax.random.split(jax.random.key(0), 3)
    with pytest.raises(Diverged, match=r"of 2 of 3 members \(0, 2\) .* first at step 1:") as raised:
        fit_ensemble(loss, jnp.array([0.05, 9.0, 0.15]), SGD, 6, keys)
    assert raised.value.members == [0, 2]


def test_the_first_estimate_leaves_compilation_out(monkeypatch):
    """A clock that only the compiler moves: a step takes no time at all, and so does what is left."""
    clock = [0.0]

    def loss(x, key, step):
        clock[0] += 1000.0  # runs once, while the program is made
        return x**2, {}

    notes = []
    stopped = SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(sys.modules["minicosm.training.fit"], "time", stopped)
    report = lambda done, steps, note: notes.append(note)  # noqa: E731
    fit(loss, jnp.ones(()), SGD, 6, jax.random.key(0), chunk=2, progress=report)
    assert clock[0] >= 1000 and all(note.endswith(" 0 s left") for note in notes)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"steps": -1}, "steps is -1"),
        ({"steps": np.inf}, "steps is inf; it must be a whole number"),
        ({"steps": np.nan}, "steps is nan"),
        ({"steps": 2.5}, "steps is 2.5"),
        ({"chunk": 0}, "chunk is 0"),
        ({"accumulate": 1.0}, "accumulate is 1.0"),
        ({"finite": "no"}, "finite is 'no'; it must be True or False"),
        ({"target": {"loss": np.nan}}, "target['loss'] is nan"),
        ({"trainable": {"w": True}}, "does not fit params"),
        ({"params": {"w": 1}}, "trainable selects no array"),
        ({"checkpoint": "/dev/null"}, "checkpoint is '/dev/null', which is no regular file"),
    ],
)
def test_bad_settings_are_named(changed, sentence):
    given = {"loss": problem(0), "params": START, "optimiser": SGD, "steps": 5}
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        fit(**(given | {"key": jax.random.key(0)} | changed))
    assert sentence in str(raised.value)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: adamw(np.nan, 10, 2), "peak is nan; it must be a finite number of at least 0"),
        (lambda: adamw("0.1", 10, 2), "peak is '0.1'"),
        (lambda: adamw(0.1, 2.5, 2), "steps is 2.5"),
        (lambda: adamw(0.1, 10, -1), "warmup is -1"),
        (lambda: adamw(0.1, 10, 2, decay=["cosine"]), "decay is ['cosine']"),
        (lambda: adamw(0.1, 10, 2, weight_decay=np.inf), "weight_decay is inf"),
        (lambda: adam({"w": 0.1, "b": np.nan}, 10, 2), "rates['b'] is nan"),
        (lambda: adam({}, 10, 2), "rates is {}"),
        (lambda: muon(0.1, 10, 2, rest=-1), "rest is -1"),
        (lambda: adafactor(0.1, 0, 0), "steps is 0"),
        (lambda: warmup_linear(np.inf, 10, 2), "peak is inf"),
        (lambda: warmup_cosine(0.1, np.inf, 2), "steps is inf"),
        (lambda: averaged(SGD, least=2), "least is 2; it must be at least 0 and at most 1"),
    ],
)
def test_bad_rates_and_steps_are_named(call, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        call()
    assert sentence in str(raised.value)


def test_a_loss_that_returns_something_else_is_named():
    for answer in (1.0, (jnp.zeros(2), {}), (0.0, [])):
        with pytest.raises(ValueError, match="loss returned"):
            fit(lambda *_, answer=answer: answer, START, SGD, 1, jax.random.key(0))
    with pytest.raises(ValueError, match="a metric called 'step'"):
        fit(lambda p, k, i: (p["b"], {"step": i}), START, SGD, 1, jax.random.key(0))
    with pytest.raises(ValueError, match=r"params\['b'\] has shape \(\); there are 2 keys"):
        fit_ensemble(problem(0).__call__, START, SGD, 1, jax.random.split(jax.random.key(0), 2))


def test_what_a_watcher_measures_joins_the_history():
    loss, key = problem(0), jax.random.key(3)
    params, history = fit(
        loss, START, adam(0.1, 7, 2), 7, key, chunk=3,
        watch=lambda p, done: {"size": jnp.sum(p["w"] ** 2), "both": np.array([done, -done])},
    )  # fmt: skip
    np.testing.assert_allclose(history["size"][-1], jnp.sum(params["w"] ** 2))
    np.testing.assert_array_equal(history["both"], [[3, -3], [6, -6], [7, -7]])


def test_a_run_that_measures_something_else_is_not_continued(tmp_path):
    loss, optimiser, key = problem(0), adam(0.1, 6, 2), jax.random.key(3)
    run = {"chunk": 3, "checkpoint": tmp_path / "run.npz"}
    fit(loss, START, optimiser, 3, key, **run)
    with pytest.raises(ValueError, match="this run measures step, loss, worst, size; the one"):
        fit(loss, START, optimiser, 6, key, watch=lambda p, done: {"size": 1.0}, **run)


def test_the_same_optimiser_is_made_once():
    """A new one would compile the training loop again."""
    assert adam(0.1, 7, 2) is adam(0.1, 7, 2) and adam(0.1, 7, 2) is not adam(0.2, 7, 2)
    assert adam({"w": 0.1, "b": 0.2}, 7, 2) is adam({"w": 0.1, "b": 0.2}, 7, 2)
    assert adamw(0.1, 7, 2) is adamw(0.1, 7, 2) and adamw(0.1, 7, 2) is not adamw(0.1, 8, 2)


def test_muon_moves_all_directions_of_a_matrix_alike_and_the_rest_by_adam():
    model = jax.jit(transformer)(jax.random.key(0))
    draw = np.random.default_rng(0)
    gradient = jax.tree.map(
        lambda leaf: jnp.asarray(draw.normal(size=leaf.shape), leaf.dtype), model
    )
    optimiser = muon(0.02, 10, 0, rest=0.005)
    updates, _ = jax.jit(lambda g, m: optimiser.update(g, optimiser.init(m), m))(gradient, model)
    layers = updates.layers
    width = model.config.width
    for matrix in (
        layers.attention.qkv[0, :, 1].reshape(width, -1),
        layers.attention.out[0].reshape(-1, width),
        layers.mlp.up[0],
        layers.mlp.down[-1],
    ):
        sigma = np.linalg.svd(np.asarray(matrix), compute_uv=False)
        assert sigma.max() / sigma.min() < 3
    given = np.linalg.svd(np.asarray(gradient.layers.mlp.down[-1]), compute_uv=False)
    assert given.max() / given.min() > 2
    # Adam's first step has the sign of the gradient and one size for all (its own is Nesterov's).
    step = np.asarray(updates.token_embedding / -np.sign(gradient.token_embedding))
    np.testing.assert_allclose(step, step[0, 0], rtol=1e-3)
    assert 0.005 <= step[0, 0] < 0.01


def test_accumulated_gradients_are_the_mean_over_the_split_keys():
    loss, optimiser, key = problem(0), adam(0.1, 5, 2), jax.random.key(3)

    def together(params, key, step):
        values, metrics = jax.vmap(lambda k: loss(params, k, step))(jax.random.split(key, 4))
        return jnp.mean(values), jax.tree.map(jnp.mean, metrics)

    params, history = fit(loss, START, optimiser, 4, key, chunk=2, accumulate=4)
    expected, same = fit(together, START, optimiser, 4, key, chunk=2)
    for name in START:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-5)
    for name in ("loss", "worst"):
        np.testing.assert_allclose(history[name], same[name], rtol=1e-5)
    with pytest.raises(ValueError, match="accumulate is 0"):
        fit(loss, START, optimiser, 5, key, accumulate=0)
