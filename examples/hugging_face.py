"""VGB on a Hugging Face causal model (pip install 'minicosm[hf]'): the same call as for a world.

In place of the random weights, load your own by AutoModelForCausalLM.from_pretrained(...).
"""

import jax
import numpy as np

try:
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError:
    raise SystemExit("this example needs transformers: pip install 'minicosm[hf]'") from None

from minicosm.decoding import VGB, generate

config = LlamaConfig(
    vocab_size=8, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
    bos_token_id=0, eos_token_id=None, max_position_embeddings=32,
)  # fmt: skip
model = LlamaForCausalLM(config)


def no_repeats(tokens: np.ndarray) -> float:
    return float(len(set(tokens.tolist())) == len(tokens))


walk = VGB(output="first_leaf", proposals="repeat")
trace = generate(model, walk, key=jax.random.key(0), length=5, count=8, verifier=no_repeats)
print(trace.tokens, trace.accepted.mean(), trace.calls.mean())
