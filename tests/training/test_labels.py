"""Labels at positions: the loss against sums written out, and arms that are members of one ensemble."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models import LSTM, LSTMConfig, Placement, Transformer, TransformerConfig
from minicosm.training import Labelled, LabelledWorld, LabelObjective, adamw, fit_ensemble

CONFIG = TransformerConfig.gpt2(
    3, layers=1, heads=2, width=8, positions="sinusoidal", tied=False, init_std=0.3
)


class Sums(eqx.Module):
    """Symbols 0, 1, 2; the label is their sum modulo 3, known with probability `reveal`."""

    reveal: jax.Array | float = 1.0
    pad: bool = eqx.field(static=True, default=False)
    """A scratchpad: the label of a symbol stands after it."""

    def labelled(self, key, length):
        symbols, reveal = jax.random.split(key)
        tokens = jax.random.randint(symbols, (length,), 0, 3)
        labels = jnp.cumsum(tokens) % 3
        weights = jax.random.uniform(reveal, (length,)) < self.reveal
        if self.pad:
            tokens = jnp.stack([tokens, labels], axis=1).reshape(-1)[:-1]
        return Labelled(tokens, labels, weights)


ALL, SOME, NONE = map(jnp.float32, (1, 0.3, 0))  # arrays, which share a program


def strings(objective, key):
    """The strings that an objective draws."""
    for one in jax.random.split(key, objective.batch):
        draw, _ = jax.random.split(one)
        yield jax.tree.map(np.asarray, objective.world.labelled(draw, objective.length))


read = eqx.filter_jit(lambda model, tokens: model.next_logits(tokens))


def by_hand(objective, model, key):
    """The loss and the accuracy, one label at a time."""
    at = objective.at or range(objective.length)
    of_strings, right = [], []
    for tokens, labels, weights in strings(objective, key):
        laws = np.asarray(jax.nn.log_softmax(read(model, tokens)), float)
        rows = [laws[i] for i in at]
        known = [i for i in range(len(labels)) if weights[i]]
        of_strings.append([-rows[i][labels[i]] for i in known])
        right += [np.argmax(rows[i]) == labels[i] for i in known]
    if objective.mean == "labels":
        loss = np.mean(np.concatenate(of_strings))
    else:
        loss = np.mean([np.mean(losses) for losses in of_strings if losses])
    return loss, np.mean(right), len(right)


@pytest.mark.parametrize(
    ("world", "options"),
    [
        (Sums(ALL), {}),
        (Sums(SOME), {}),
        (Sums(SOME), {"mean": "strings"}),
        (Sums(ALL, pad=True), {"at": (0, 2, 4, 6)}),
    ],
    ids=["all", "sparse", "strings", "scratchpad"],
)
def test_the_loss_is_a_sum_over_given_labels(world, options):
    assert isinstance(world, LabelledWorld)
    model = LSTM(LSTMConfig(3, hidden=4), key=jax.random.key(0))
    objective = LabelObjective(world, length=4, batch=5, **options)
    key = jax.random.key(7)
    loss, metrics = eqx.filter_jit(objective)(model, key, 0)
    expected, accuracy, count = by_hand(objective, model, key)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    assert float(metrics["accuracy"]) == pytest.approx(accuracy)
    assert metrics["labels"] == count
    assert metrics["tokens"] == 5 * (7 if world.pad else 4)
    assert count == 20 or 0 < count < 12


def test_a_batch_without_labels_is_worth_nothing():
    model = LSTM(LSTMConfig(3, hidden=4), key=jax.random.key(0))
    for mean in ("labels", "strings"):
        objective = LabelObjective(Sums(NONE), length=4, batch=5, mean=mean)
        loss, metrics = eqx.filter_jit(objective)(model, jax.random.key(0), 0)
        assert loss == 0 and metrics["labels"] == 0 and metrics["accuracy"] == 0


@pytest.mark.long
def test_every_batch_has_one_shift_of_its_own():
    """Referee: the loss at every offset, one of which it must be."""
    model = Transformer(CONFIG, key=jax.random.key(0))
    model = eqx.tree_at(lambda m: m.position_scale, model, jnp.float32(2.0))
    shifted = eqx.filter_jit(LabelObjective(Sums(), None, 3, length=4, batch=4))
    fixed = eqx.filter_jit(
        lambda key, offset: LabelObjective(
            Sums(), Placement(offset=offset), length=4, batch=4
        )(model, key, 0)[0]
    )  # fmt: skip
    seen = []
    for seed in range(16):
        key = jax.random.key(seed)
        loss = float(shifted(model, key, 0)[0])
        losses = [float(fixed(jax.random.split(key)[1], jnp.int32(i))) for i in range(5)]
        seen.append(int(np.argmin(np.abs(np.array(losses) - loss))))
        assert abs(losses[seen[-1]] - loss) < 1e-5
    assert set(seen) == {0, 1, 2, 3}


@pytest.mark.long
def test_arms_are_members_of_one_ensemble():
    """Labels, slopes and shifts are arrays: each member trains as it does alone."""
    keys = jax.random.split(jax.random.key(1), 3)
    models = eqx.filter_vmap(lambda key: Transformer(CONFIG, key=key))(keys)
    slopes = np.array([[0, 0], [0.5, 0.1], [0, 0]], np.float32)
    arms = LabelObjective(
        Sums(np.array([1.0, 1.0, 0.3], np.float32)), Placement(slopes), np.array([0, 0, 5]),
        length=4, batch=4,
    )  # fmt: skip
    optimiser = adamw(1e-2, 4, 1)
    _, history = fit_ensemble(arms, models, optimiser, 4, keys, chunk=2)
    assert history["loss"].shape == (2, 3)
    take = jax.tree.map(lambda leaf: jnp.asarray(leaf)[2:], (arms, models, keys))
    _, alone = fit_ensemble(*take[:2], optimiser, 4, take[2], chunk=2)
    np.testing.assert_allclose(history["loss"][:, 2], alone["loss"][:, 0], rtol=1e-3)


def test_bad_input():
    for arguments, sentence in [
        ({"length": 0}, "length is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"at": ()}, "it must have at least one position"),
        ({"at": (-1,)}, "a position in at is -1"),
        ({"shift": -1}, r"shift is -1; it must lie in 0\.\."),
        ({"shift": 2, "placement": Placement(offset=1)}, "placement.offset must then be None"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            LabelObjective(**({"world": Sums(), "length": 3} | arguments))
    model = Transformer(CONFIG, key=jax.random.key(0))
    for at, sentence in [
        ((0, 1), "there are 2 positions to label"),
        ((0, 1, 5), "at has position 5"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            LabelObjective(Sums(), length=3, batch=1, at=at)(model, jax.random.key(0), 0)
