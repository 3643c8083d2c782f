"""Another law of the masked slot's state: all that a prompt can do to the exact model of an HMM."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.training import adam, fit
from minicosm.worlds import HMM

from .heads import AnyArray

STEPS = 600
RATE = 0.1
SMALL = 1e-12


def laws_with_prior(
    world: HMM, messages: Float[np.ndarray, "n H"], prior: Float[np.ndarray, " H"]
) -> Float[np.ndarray, "n V"]:
    """`W (c * b) / (c . b)` for every b."""
    joint = prior * messages
    return (joint / joint.sum(axis=1, keepdims=True)) @ np.asarray(world.W).T


def fitted_prior(
    world: HMM, messages: Float[np.ndarray, "n H"], laws: Float[np.ndarray, "n V"]
) -> Float[np.ndarray, " H"]:
    """The c that minimises the mean of `KL(law || W (c * b) / (c . b))`, as a softmax, from the
    uniform law by Adam."""
    with jax.enable_x64(True):
        logits, _ = fit(
            PriorLoss(np.asarray(world.W), messages, laws),
            jnp.zeros(messages.shape[1]),
            adam(RATE, STEPS, STEPS // 20),
            STEPS,
            jax.random.key(0),
        )
        return np.asarray(jax.nn.softmax(logits))


class PriorLoss(eqx.Module):
    """The mean of `- law . log(W (c * b) / (c . b))` with `c = softmax(logits)`."""

    W: Float[AnyArray, "V H"]
    messages: Float[AnyArray, "n H"]
    laws: Float[AnyArray, "n V"]

    def __call__(
        self, logits: Float[Array, " H"], key: PRNGKeyArray, step: Int[Array, ""]
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        joint = jax.nn.softmax(logits) * self.messages
        found = (joint / joint.sum(axis=1, keepdims=True)) @ jnp.asarray(self.W).T
        return -jnp.mean(jnp.sum(self.laws * jnp.log(jnp.maximum(found, SMALL)), axis=1)), {}
