"""A probe of hidden states whose attention knows positions only.

With frozen rows `e_k` of a sentence and H heads the probe says at position i

    G_i = sum_r sum_k w_{r, i -> k} (e_k A_r + b_r),    w_{r, i -> k} = softmax_k <P_{i,r}, P_{k,r}>,

logits over classes such as the non-terminals of a grammar. Attention goes to tokens of the sentence only.
"""

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models.checks import check_key, check_mask
from minicosm.worlds.arrays import AnyArray, check_count, check_size, check_whole_numbers

from .checks import check_real, check_reals


class PositionProbe(eqx.Module):
    """See the module; one sentence in."""

    positions: Float[AnyArray, "H T size"]
    weights: Float[AnyArray, "H E classes"]
    bias: Float[AnyArray, "H classes"]

    def __call__(
        self, rows: Float[AnyArray, "T E"], visible: Bool[AnyArray, " T"]
    ) -> Float[Array, "T classes"]:
        """Logits at every position of a sentence whose tokens are where `visible` is True."""
        length, width = np.shape(self.positions)[1], np.shape(self.weights)[1]
        rows = jnp.asarray(check_reals("rows", rows, (length, width)))
        seen = jnp.asarray(check_mask("visible", visible, (length,), "rows"))
        places = jnp.asarray(self.positions)
        scores = jnp.einsum("hip,hkp->hik", places, places)
        attention = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1)
        said = jnp.einsum("ke,hec->hkc", rows, jnp.asarray(self.weights))
        said = said + jnp.asarray(self.bias)[:, None]
        return jnp.einsum("hik,hkc->ic", attention, said)


def fit_position_probe(
    rows: Float[AnyArray, "n T E"],
    labels: Int[AnyArray, "n T"],
    scored: Bool[AnyArray, "n T"],
    visible: Bool[AnyArray, "n T"],
    key: PRNGKeyArray,
    *,
    classes: int,
    heads: int = 4,
    size: int = 32,
    steps: int = 300,
    batch: int = 64,
    rate: float = 1e-2,
) -> PositionProbe:
    """The probe after `steps` steps of Adam on the cross entropy of the labels at the positions that are
    `scored`, in sentences of frozen rows."""
    rows = check_reals("rows", rows, (None, None, None))
    count, length, width = rows.shape
    if not rows.size:
        raise ValueError(f"rows has shape {rows.shape}; there must be sentences with rows")
    most = check_count("classes", classes)
    answers = check_whole_numbers("labels", labels, 0, most - 1, (count, length))
    masks = [
        check_mask(name, mask, (count, length), "rows")
        for name, mask in (("scored", scored), ("visible", visible))
    ]
    check_key("key", key)
    start, data = jax.random.split(key)
    places = check_count("heads", heads), check_count("size", size)
    drawn, updates = min(check_count("batch", batch), count), check_count("steps", steps)
    check_size(f"positions of {heads} heads of size {size}", places[0] * length * places[1])
    check_size(f"weights of {heads} heads for {classes} classes", places[0] * width * most)
    check_size(f"attention of {heads} heads in {drawn} sentences", places[0] * drawn * length**2)
    check_size(f"what {heads} heads say in {drawn} sentences", places[0] * drawn * length * most)
    check_size(f"the keys of {steps} steps", updates, 2**24)
    probe = PositionProbe(
        jax.random.normal(start, (places[0], length, places[1])) / np.sqrt(places[1]),
        jnp.zeros((places[0], width, most)),
        jnp.zeros((places[0], most)),
    )
    pace = check_real("rate", rate, above=0)
    data_set = (jnp.asarray(rows), jnp.asarray(answers), *map(jnp.asarray, masks))
    return _train(probe, data_set, data, updates, drawn, pace)


adam = cache(optax.adam)


@eqx.filter_jit
def _train(
    probe: PositionProbe, data: Any, key: PRNGKeyArray, steps: int, batch: int, rate: float
) -> PositionProbe:
    optimiser = adam(rate)

    def loss(probe: PositionProbe, chosen: Any) -> Float[Array, ""]:
        rows, labels, scored, visible = chosen
        laws = jax.nn.log_softmax(jax.vmap(probe)(rows, visible))
        losses = -jnp.take_along_axis(laws, labels[..., None], axis=-1)[..., 0]
        return jnp.sum(scored * losses) / jnp.maximum(jnp.sum(scored), 1)

    def step(carry: Any, key: PRNGKeyArray) -> Any:
        probe, state = carry
        at = jax.random.randint(key, (batch,), 0, data[0].shape[0])
        gradient = jax.grad(loss)(probe, jax.tree.map(lambda part: part[at], data))
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(probe, updates), state), None

    carry = (probe, optimiser.init(probe))
    return jax.lax.scan(step, carry, jax.random.split(key, steps))[0][0]
