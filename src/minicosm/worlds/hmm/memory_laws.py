"""Likelihoods, laws and posteriors of a memory world, compiled as one program each."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..arrays import embed_rows
from . import chain
from .configurations import log_scale, weights_of


def _lifted(world: Any, tokens: Any, observed: Any) -> Float[Array, "T C H"]:
    rows = world.lift(world.emission_columns()).reshape(world.vocab, -1)
    embedded = embed_rows(rows, tokens, observed)
    return embedded.reshape(len(embedded), world.configurations, world.hidden)


@eqx.filter_jit
def log_prob(world: Any, tokens: Any, observed: Any, length: Any) -> Float[Array, ""]:
    """`log_prob` of the first `length` tokens; None: of all of them."""
    rows, A = _lifted(world, tokens, observed), jnp.asarray(world.A)
    prior = jnp.asarray(world.pM)
    if length is None:
        logs = jax.vmap(chain.log_likelihood, in_axes=(None, None, 1))(A, world.first, rows)
    else:
        run = jax.vmap(chain.forward_messages, in_axes=(None, None, 1))
        logs = run(A, world.first, rows)[1][:, length]
    total = jnp.sum(weights_of(prior, logs))
    log = log_scale(prior, logs) + jnp.log(jnp.where(total > 0, total, 1))
    return jnp.where(total > 0, log, -jnp.inf)


@eqx.filter_jit
def next_logits(world: Any, tokens: Any) -> Float[Array, "T vocab"]:
    run = jax.vmap(chain.forward_messages, in_axes=(None, None, 1))
    forward, logs = run(jnp.asarray(world.A), world.first, _lifted(world, tokens, None))
    weights = weights_of(jnp.asarray(world.pM), logs)
    tau = jnp.moveaxis(weights[..., None] * forward, 0, 1)[1:]
    return jnp.log(chain.normalise(world.unlift(tau)) @ world.emission_columns().T)


@eqx.filter_jit
def conditionals(world: Any, tokens: Any, observed: Any) -> Float[Array, "T vocab"]:
    return world.predict(world.embed(tokens, observed))


@eqx.filter_jit
def posterior(
    world: Any, tokens: Any, observed: Any
) -> tuple[Float[Array, "rows H"], Float[Array, "N M"], Float[Array, " C"]]:
    """Laws of the hidden states, of the cells and of the configurations."""
    rows = _lifted(world, tokens, observed)
    run = jax.vmap(chain.messages, in_axes=(None, None, 1))
    m = run(jnp.asarray(world.A), world.first, rows)
    start = jnp.asarray(world.p0) * m.backward[:, 0]
    inner = m.forward * m.backward[:, 1:] * jnp.moveaxis(rows, 1, 0)
    joint = jnp.concatenate([start[:, None], inner], axis=1)  # (C, T+1, H)
    # Any position's scales give the same configuration weights; H_0's need no forward part.
    logs = jnp.concatenate([m.backward_log[:, :1], m.forward_log + m.backward_log[:, 1:]], axis=1)
    joint = weights_of(jnp.asarray(world.pM), logs)[..., None] * joint
    configurations = chain.normalise(joint[:, 0].sum(axis=1))
    grid = configurations.reshape((world.values,) * world.cells)
    cells = jnp.stack(
        [grid.sum(axis=tuple(k for k in range(world.cells) if k != j)) for j in range(world.cells)]
    )
    return chain.normalise(joint.sum(axis=0)), cells, configurations
