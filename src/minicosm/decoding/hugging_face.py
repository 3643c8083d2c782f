"""A Hugging Face causal language model as a reader of one string. Needs torch and transformers.

It keeps the keys and values of what it has read; going back cuts them, and nothing is computed twice:
laws and hidden states of every prefix are kept as well.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .host_loop import Score
from .verifiers import ProbeVerifier


class HuggingFaceReader:
    """Reads one string at a time; see `Reader`. The string's first token must come from a prompt.

    `layer` l is the hidden state after l layers, as `output_hidden_states` numbers them (0:
    embeddings); None keeps none. A probe must have been trained on the same layer.
    """

    def __init__(self, model: Any, layer: int | None = None):
        try:
            import torch
            from transformers import DynamicCache
        except ImportError:
            raise ImportError(
                "the adapter to Hugging Face models needs torch and transformers: "
                "pip install 'minicosm[hf]'"
            ) from None
        count = model.config.num_hidden_layers
        if layer is not None and not 0 <= layer <= count:
            raise ValueError(f"layer is {layer}; this model has the layers 0..{count}")
        self.torch, self.model, self.layer = torch, model.eval(), layer
        self.context = getattr(model.config, "max_position_embeddings", None)
        self.cache = DynamicCache(config=model.config)
        self.laws: list[Any] = []
        self.states: list[np.ndarray] = []

    @property
    def n(self) -> int:
        """How many tokens have been read."""
        return len(self.laws)

    def read(self, tokens: Sequence[int]) -> None:
        if not len(tokens):
            return
        if self.context is not None and self.n + len(tokens) > self.context:
            raise ValueError(
                f"the string has {self.n + len(tokens)} tokens; "
                f"the model's context has room for {self.context}"
            )
        torch = self.torch
        device = next(self.model.parameters()).device
        with torch.no_grad():
            answer = self.model(
                input_ids=torch.tensor([list(tokens)], device=device),
                past_key_values=self.cache,
                use_cache=True,
                output_hidden_states=self.layer is not None,
            )
            self.cache = answer.past_key_values
            self.laws += list(torch.log_softmax(answer.logits[0].float(), -1).cpu())
            if self.layer is not None:
                self.states += list(answer.hidden_states[self.layer][0].float().cpu().numpy())

    def back(self, n: int) -> None:
        if not 0 <= n <= self.n:
            raise ValueError(f"cannot go back to {n} tokens of {self.n}")
        if n == 0:
            self.cache = type(self.cache)(config=self.model.config)
        elif n < self.n:
            self.cache.crop(n - self.n)  # negative: the number of tokens to cut off
        del self.laws[n:], self.states[n:]

    def law(self) -> Float[np.ndarray, " V"]:
        """Log-probabilities of the next token, in float32."""
        if not self.laws:
            raise ValueError("the string is empty; a prompt must have at least one token")
        return self.laws[-1].numpy()

    def state(self) -> Float[np.ndarray, " E"] | None:
        """The hidden state of the last token."""
        return self.states[-1] if self.layer is not None and self.states else None


def probe_score(probe: ProbeVerifier) -> Score:
    """A probe as the score of a reader's hidden state."""
    probability = eqx.filter_jit(probe.probability)

    def score(tokens: Sequence[int], state: Float[np.ndarray, " E"] | None) -> float:
        if state is None:
            raise ValueError("the reader keeps no hidden states; give it the probe's layer")
        return float(probability(jnp.asarray(state)))

    return score
