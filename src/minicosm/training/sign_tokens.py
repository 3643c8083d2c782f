"""Sign vectors read as sequences of tokens, as a task for Transformers."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from minicosm.models.checks import shown

from .distillation import SignVectors
from .objectives import check_answers


class SignTokens(SignVectors):
    """The classes of sign vectors, for models that read tokens (`Transformer`): coordinate i is the token at
    position i, 0 for +1 and 1 for -1, and the class is what the model says at the last position."""

    def logits(self, model: Any, batch: Any) -> Float[Array, "n K"]:
        check_answers(model, "embed")
        check_answers(model, "logits")
        if not hasattr(batch, "tokens"):
            raise TypeError(f"batch is {shown(batch)}; it must be what draw returns")
        last = np.array([batch.tokens.shape[-1] - 1])
        return jax.vmap(lambda row: model.logits(model.embed(row), last)[0])(batch.tokens)
