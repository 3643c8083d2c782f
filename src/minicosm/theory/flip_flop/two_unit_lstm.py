"""A recurrent network with two units that remembers a bit."""

from typing import Any

import numpy as np

from minicosm.models import LSTM, LSTMConfig, from_arrays
from minicosm.worlds import FlipFlop
from minicosm.worlds.flip_flop.language import SYMBOL, WRITE

from ..checks import kind, real
from ..signatures import checked
from ..theorem import Theorem
from .proposition_3 import _certificate, _one_bit

SURE = 60.0
"""Logit of gates that are open."""
M = 10.0


@checked(K=real(above=0))
def two_unit_lstm(K: float = SURE) -> LSTM:
    """Unit 0 says whether this token is a write, unit 1 holds the bit, from the token after one.

    Unit 0: `i = sigmoid(K (2 1[w] - 1))`, `f = sigmoid(-K)`, `g = o = 1`. Unit 1, with `h0` of the token
    before and `theta = tanh(1) / 2`: `i = sigmoid(K (h0 - theta) / theta) = 1 - f`,
    `g = tanh(M (1[x = 1] - 1[x = 0]))`, `o = 1`. The larger K, the longer the bit lasts.
    """
    theta = np.tanh(1) / 2
    config = LSTMConfig(5, hidden=2, embedding=2)
    embedding = np.zeros((5, 2))
    embedding[:, 0] = -1
    embedding[WRITE, 0] = 1
    embedding[SYMBOL, 1], embedding[SYMBOL + 1, 1] = -1, 1
    I0, I1, F0, F1, G0, G1, O0, O1 = range(8)
    inputs, hidden, bias = np.zeros((8, 2)), np.zeros((8, 2)), np.zeros(8)
    inputs[I0, 0] = K
    bias[[F0, G0, O0, O1]] = -K, SURE, SURE, SURE
    hidden[I1, 0], bias[I1] = K / theta, -K
    hidden[F1, 0], bias[F1] = -K / theta, K
    inputs[G1, 1] = M
    output, output_bias = np.zeros((2, 5)), np.full(5, -10.0)
    output[1, SYMBOL], output[1, SYMBOL + 1] = -1, 1
    output_bias[SYMBOL:] = 0
    arrays: dict[str, Any] = {
        "token_embedding": embedding,
        "cell.weight_ih": inputs,
        "cell.weight_hh": hidden,
        "cell.bias": bias,
        "output": output,
        "output_bias": output_bias,
    }
    return from_arrays(config, arrays)


@checked(world=kind(FlipFlop))
def recurrent_memory(world: FlipFlop) -> Theorem:
    """An LSTM of two units says every read: `certify(strings=..., precise=True)`."""
    condition = _one_bit(world)
    if not condition.holds:
        return Theorem("Two-unit LSTM", (condition,))
    model = two_unit_lstm()
    return Theorem("Two-unit LSTM", (condition,), construction=model, check=_certificate(model))
