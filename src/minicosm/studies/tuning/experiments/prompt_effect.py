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

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.outputs import total_variation
from minicosm.adaptation.prior import fitted_prior, laws_with_prior
from minicosm.worlds import HMM


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
        return float(total_variation(laws_with_prior(world, messages, prior), laws).mean())

    return {
        "prompt_change": float(total_variation(prompted, bare).mean()),
        "prompt_misfit": misfit(prior, prompted),
        "bare_misfit": misfit(bare_prior, bare),
        "relevant_before": mass(first),
        "relevant_after": mass(prior),
        "relevant_exact": mass(exact_prior),
    }
