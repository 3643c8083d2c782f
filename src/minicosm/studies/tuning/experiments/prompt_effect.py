"""What a prompt does to a model's law at the mask.

To the exact model a prompt can do one thing: replace the law of H_1 by another law c, so that the
output becomes `W (c * b(x)) / (c . b(x))` with `b(x) = P[x | H_1]`. The theorem's prompt chooses c so
that only states which matter to the label remain. For a prompt on a trained model, `fitted_prior` is
the c that comes closest, and these numbers (means over sequences) compare the two:

- `prompt_change`: total variation between the model's law with the prompt and without;
- `prompt_misfit`: between the law with the prompt and the exact model with the fitted c;
- `bare_misfit`: between the law without the prompt and the exact model with the c fitted to that;
- `relevant_before`, `relevant_after`, `relevant_exact`: the posterior mass of the states on which the
  label depends, without a prompt, with the fitted c, and with the c of a prompt trained on the exact
  model.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation.heads import AnyArray
from minicosm.training import adam, fit
from minicosm.worlds import HMM

from .pretraining import total_variation

STEPS = 600
RATE = 0.1
SMALL = 1e-12


def prompt_effect(
    world: HMM,
    messages: Float[np.ndarray, "n H"],
    mu: Float[np.ndarray, "rows H"],
    bare: Float[np.ndarray, "n V"],
    prompted: Float[np.ndarray, "n V"],
    exact_prior: Float[np.ndarray, " H"],
) -> dict[str, float]:
    """The numbers of the module, for one prompt."""
    first = np.asarray(world.first, np.float64)
    prior, bare_prior = (fitted_prior(world, messages, laws) for laws in (prompted, bare))
    relevant = np.flatnonzero(np.ptp(mu, axis=0))

    def mass(prior: np.ndarray) -> float:
        joint = prior * messages
        return float((joint[:, relevant].sum(axis=1) / joint.sum(axis=1)).mean())

    def misfit(prior: np.ndarray, laws: np.ndarray) -> float:
        return float(total_variation(shifted(world, messages, prior), laws).mean())

    return {
        "prompt_change": float(total_variation(prompted, bare).mean()),
        "prompt_misfit": misfit(prior, prompted),
        "bare_misfit": misfit(bare_prior, bare),
        "relevant_before": mass(first),
        "relevant_after": mass(prior),
        "relevant_exact": mass(exact_prior),
    }


def shifted(
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

    def __call__(self, logits: Float[Array, " H"], key: PRNGKeyArray, step: Int[Array, ""]):
        joint = jax.nn.softmax(logits) * self.messages
        found = (joint / joint.sum(axis=1, keepdims=True)) @ jnp.asarray(self.W).T
        return -jnp.mean(jnp.sum(self.laws * jnp.log(jnp.maximum(found, SMALL)), axis=1)), {}
