"""Training on automata: tasks, models, measures and heads, each against loops that are written out."""

from dataclasses import replace
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.models import recency_slopes
from minicosm.studies.automata import experiment_trials as trials
from minicosm.studies.automata.experiment_trials import Training
from minicosm.studies.automata.experiments import heads, measures, models, tasks, training
from minicosm.worlds import automata

TINY = Training(
    length=4, members=2, steps=3, batch=4, width=8, mlp_width=8, heads=2, hidden=4, embedding=4, depth=2,
    tests=8, init_std=0.5,
)  # fmt: skip


@lru_cache
def fresh(config):
    world = tasks.padded(config, tasks.automaton(config))
    keys = jax.random.split(jax.random.key(0), config.members)
    return world, eqx.filter_jit(lambda keys: models.fresh(config, world, keys))(keys)


def shapes(**fields):
    """Fresh models with shapes in the place of arrays."""
    config = replace(TINY, **fields)
    world = tasks.padded(config, tasks.automaton(config))
    keys = jax.random.split(jax.random.key(0), config.members)
    return eqx.filter_eval_shape(lambda keys: models.fresh(config, world, keys), keys)


# -- tasks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task", ["C_2", "Grid_4", "D_8 with a no-op", "Q_8", "Dyck", trials.ABAB, trials.BOUNDARY, trials.ZERO]
)  # fmt: skip
def test_padding_changes_no_label_and_no_law(task):
    """Referee: the table of the automaton itself, step by step, on strings of the padded one."""
    config = replace(TINY, task=task)
    exact = tasks.automaton(config)
    world = tasks.padded(config, exact)
    assert (world.delta.shape, world.outputs, len(world.weights)) == ((4, 8), 8, 2)
    symbols, labels = map(np.asarray, measures.draw(world, jax.random.key(1), 50, 12))
    np.testing.assert_array_equal(measures.labels(world, symbols), labels)
    possible = exact.symbol_law.sum(axis=0) > 0
    for row, wanted in zip(symbols, labels, strict=True):
        q = int(exact.start)
        for s, label in zip(row, wanted, strict=True):
            assert possible[s, q]
            q = exact.delta[s, q]
            assert exact.observation[q] == label
    np.testing.assert_allclose(exact.position_accuracy(9), world.position_accuracy(9), atol=1e-12)


def test_tasks_see_what_they_should():
    sees = {
        trials.BOUNDARY: [1, 0, 0, 1],
        trials.ABAB: [0, 0, 0, 1, 0],
        trials.ZERO: [1, 0, 0, 0],
    }
    for task, observation in sees.items():
        assert tasks.automaton(replace(TINY, task=task)).observation.tolist() == observation
    assert tasks.automaton(replace(TINY, task="Dyck")).states == 8
    assert tasks.automaton(replace(TINY, task="D_6 with a no-op")).delta.shape == (3, 6)
    floors = {"Grid_4": 0.3, "D_8": 0.262, "C_2": 0.5}
    for task, floor in floors.items():
        exact = tasks.automaton(replace(TINY, task=task))
        assert exact.position_accuracy(20) == pytest.approx(floor, abs=6e-4)


def test_a_scratchpad_stands_between_symbols_and_labels_are_sparse():
    world = tasks.padded(TINY, automata.parity())
    task = tasks.Simulation(world, np.array(1.0), True)
    sparse = tasks.Simulation(world, np.array(0.25), False)
    keys = jax.random.split(jax.random.key(0), 500)
    found, some = jax.jit(
        lambda key, keys: (
            task.labelled(key, 5),
            jax.vmap(lambda key: sparse.labelled(key, 8).weights)(keys),
        )
    )(jax.random.key(3), keys)
    tokens, labels, given = map(np.asarray, found)
    symbols = tokens[::2] - 8
    assert len(tokens) == 9 and given.all() and set(symbols) <= {0, 1}
    np.testing.assert_array_equal(labels, np.cumsum(symbols) % 2)
    np.testing.assert_array_equal(tokens[1::2], labels[:-1])
    assert abs(float(np.mean(some)) - 0.25) < 4 * (0.25 * 0.75 / 4000) ** 0.5


# -- models --------------------------------------------------------------------------------------------


def test_arms_with_other_positions_share_a_program():
    kinds = ("sinusoidal", "none", "shift", "recency")
    found = {kind: models.placement(replace(TINY, positions=kind)) for kind in kinds}
    shapes = {kind: jax.tree.map(np.shape, one) for kind, one in found.items()}
    assert all(shape == shapes["none"] for shape in shapes.values())
    assert not found["none"].rows.any() and not found["recency"].rows.any()
    np.testing.assert_allclose(found["recency"].slopes, recency_slopes(2))
    assert not found["shift"].slopes.any() and models.shift(replace(TINY, positions="shift")) == 8
    assert models.shift(TINY) == 0 and found["shift"].rows[3].any()


def test_inputs_and_outputs_of_the_models():
    direct, pad, lstm = shapes(), shapes(model="scratchpad"), shapes(model="lstm")
    assert direct.token_embedding.shape == (2, 8, 8) and direct.output.shape == (2, 8, 8)
    assert pad.token_embedding.shape == (2, 12, 8)  # 8 states, then 4 symbols
    assert lstm.token_embedding.shape == (2, 8, 4) and lstm.output.shape == (2, 4, 8)
    linear = shapes(positions="linear")
    assert linear.position_scale is None and linear.config.max_length == 4


def test_every_arm_draws_keys_of_its_own():
    configs = [TINY, replace(TINY, seed=1), replace(TINY, task="D_6"), replace(TINY, reveal=0.5)]
    configs += [replace(TINY, model="lstm"), replace(TINY, layers=3)]
    keys = {tuple(np.asarray(jax.random.key_data(training._key(config)))) for config in configs}
    assert len(keys) == len(configs)
    assert training._key(TINY) != jax.random.key(0)


# -- measures ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_scratchpad_is_written_step_by_step():
    """Referee: the whole string again for every symbol, without a cache."""
    config = replace(TINY, model="scratchpad", positions="recency")
    world, stacked = fresh(config)
    placement = models.placement(config)
    symbols, _ = measures.draw(world, jax.random.key(2), 8, 5)
    written = measures.predictions(stacked, placement, symbols, world.states)
    model = jax.tree.map(lambda leaf: leaf[1], stacked)
    whole = eqx.filter_jit(lambda model, s, placement: model.next_logits(s, placement=placement))
    for row, states in zip(np.asarray(symbols)[:3], np.asarray(written)[1], strict=False):
        tokens = [int(row[0]) + 8]
        for t in range(5):
            here = len(tokens) - 1
            logits = whole(model, np.pad(tokens, (0, 8 - here)), placement)[here]
            assert int(jnp.argmax(logits)) == states[t]
            if t < 4:
                tokens += [int(states[t]), int(row[t + 1]) + 8]
    assert len(set(np.asarray(written).ravel().tolist())) > 1


@pytest.mark.long
def test_predictions_are_those_of_every_member_alone():
    world, stacked = fresh(TINY)
    symbols, wanted = measures.draw(world, jax.random.key(2), 8, 6)
    found = measures.predictions(stacked, models.placement(TINY), symbols, None)
    model = jax.tree.map(lambda leaf: leaf[0], stacked)
    read = jax.jit(lambda model, s: model.next_logits(s, placement=models.placement(TINY)))
    one = read(model, np.asarray(symbols)[3])
    np.testing.assert_array_equal(np.asarray(found)[0, 3], np.argmax(one, axis=-1))
    by_position = measures.by_position(found, wanted)
    right = [int(found[1, n, 4]) == int(wanted[n, 4]) for n in range(8)]
    assert by_position[1, 4] == np.mean(right)


def test_cells_are_positions_and_numbers_of_ones():
    rng = np.random.default_rng(0)
    symbols = measures.with_ones(rng, 4, 3)
    assert sorted(symbols.sum(axis=1)) == sorted([0, 1, 2, 3, 4] * 3)
    right = rng.random((2, 15, 4)) < 0.5
    cells, seen = measures.by_count(right, symbols)
    for t in range(4):
        for m in range(5):
            here = [n for n in range(15) if symbols[n, : t + 1].sum() == m]
            assert seen[t, m] == len(here)
            expected = np.mean(right[1, here, t]) if here else np.nan
            np.testing.assert_equal(cells[1, t, m], expected)


def test_expected_counts_are_those_of_all_strings():
    """Referee: all 64 strings of length 6, each once."""
    strings = np.array([[n >> i & 1 for i in range(6)] for n in range(64)])
    ones = np.cumsum(strings, axis=1)
    counted = [[(ones[:, t] == m).sum() for m in range(7)] for t in range(6)]
    np.testing.assert_allclose(measures.expected_counts(64, 6), counted, atol=1e-9)


# -- heads ---------------------------------------------------------------------------------------------


def test_heads_against_loops_over_rows():
    rng = np.random.default_rng(1)
    strings, count, length = 12, 3, 8
    states = rng.integers(0, 4, (strings, length))
    maps = rng.random((strings, 2, count, length, length)) * np.tri(length)
    maps /= maps.sum(axis=-1, keepdims=True)
    found = heads.look(maps, states, (0, 3))
    for half, part in enumerate((range(6), range(6, 12))):
        for w, wall in enumerate((0, 3)):
            on, control, before, even = [], [], [], []
            for n in part:
                for t in range(length):
                    visits = [j for j in range(t) if states[n, j] == wall]
                    if not visits:
                        continue
                    j = visits[-1]
                    others = [k for k in part if states[k, j] not in (0, 3)]
                    if others:
                        on.append(maps[n, 1, 2, t, j])
                        control.append(np.mean([maps[k, 1, 2, t, j] for k in others]))
                    if j:
                        before.append(maps[n, 1, 2, t, :j].sum())
                        even.append(j / (t + 1))
            for name, values in (
                ("on", on), ("control", control), ("before", before), ("before_even", even)
            ):  # fmt: skip
                assert found[name][half, 2, w] == pytest.approx(np.mean(values)), name
        rows = [
            -sum(p * np.log(p) for p in maps[n, 0, 2, t, : t + 1]) / np.log(t + 1)
            for n in part
            for t in range(5, length)
        ]
        assert found["even"][half, 2] == pytest.approx(np.mean(rows))


def test_heads_without_visits_or_rows_are_unknown():
    maps = np.tile(np.eye(3), (4, 1, 2, 1, 1))
    found = heads.look(maps, np.ones((4, 3), int), (0, 3))
    assert np.isnan(found["on"]).all() and np.isnan(found["before"]).all()
    assert np.isnan(found["even"]).all()


def test_an_even_map_is_even_and_a_wall_head_is_found():
    states = np.array([[0, 1, 0, 1, 2, 3, 2, 3]] * 2 + [[1, 2, 1, 2, 1, 2, 1, 2]] * 2)
    even = np.tri(8) / np.arange(1, 9)[:, None]
    visit = heads.latest_visit(states == 3)
    assert visit[0].tolist() == [-1, -1, -1, -1, -1, -1, 5, 5] and (visit[2] == -1).all()
    assert heads.evenness(np.tile(even, (4, 1, 1, 1))) == pytest.approx(1)
    assert heads.telling(states, (0, 3)) == 0


# -- trials --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_trial_of_an_lstm_has_all_its_numbers(tmp_path):
    config = replace(TINY, model="lstm", chances=(0.05, 0.5), counts=2, windows=(2,))
    found = training.run(config, silent, tmp_path)
    numbers, arrays = found.numbers, found.arrays
    assert len(numbers["accuracy"]) == len(numbers["reach"]) == 2
    assert np.shape(numbers["chances"]) == (2, 2) and numbers["sequences"] == 12
    assert numbers["position"] == 0.5 and numbers["window"] == [0.75]
    assert arrays["positions"].shape == (2, 8) and arrays["cells"].shape == (2, 4, 5)
    np.testing.assert_allclose(arrays["positions"][:, :4].mean(axis=1), numbers["accuracy"])
    again = training.run(config, silent, tmp_path / "other")
    assert again.numbers == numbers


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "positions"), [("transformer", "shift"), ("scratchpad", "recency")]
)
def test_a_trial_of_a_transformer_has_all_its_numbers(model, positions, tmp_path):
    config = replace(
        TINY, model=model, positions=positions, task="Grid_4", attention=model == "transformer"
    )
    arrays = training.run(config, silent, tmp_path).arrays
    assert arrays["positions"].shape == (2, 8)
    if config.attention:
        assert arrays["maps"].shape == (2, 2, 2, 4, 4) and arrays["heads_on"].shape == (2, 2, 2, 2)
        np.testing.assert_allclose(arrays["maps"].sum(axis=-1), 1, atol=1e-5)


@pytest.mark.long
def test_an_lstm_learns_parity_and_keeps_it_at_twice_the_length(tmp_path):
    config = Training(model="lstm", length=12, members=2, steps=400, hidden=32, tests=128, seed=5)
    found = training.run(config, silent, tmp_path)
    assert min(found.numbers["accuracy"]) > 0.999
    assert found.arrays["positions"].min() > 0.99
