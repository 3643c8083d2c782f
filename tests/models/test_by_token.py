"""Beam search with what was computed remembered, against loops in NumPy that compute everything again."""

import jax
import numpy as np
import numpy_translator as referee
import pytest
import random_models

from minicosm.decoding import beam
from minicosm.models import TranslatorConfig

SMALL = {"heads": 2, "width": 8, "mlp_width": 12, "causal": True, "lengths": 0}
CONFIGS = {
    "learned, positional, tied": TranslatorConfig(4, max_length=6, encoder_layers=1, **SMALL),
    "relative, positional, untied, no bias": TranslatorConfig(
        4, source_vocab=7, positions="relative", tied=False, bias=False, max_length=6,
        encoder_layers=1, decoder_layers=1, **(SMALL | {"lengths": 3}),
    ),
    "relative": TranslatorConfig(
        4, positions="relative", positional_attention=False, max_length=2, encoder_layers=1,
        decoder_layers=1, **SMALL,
    ),
}  # fmt: skip
LONGEST = 5
RNG = np.random.default_rng(5)
SOURCE, VISIBLE = RNG.integers(0, 4, (5, 4)), np.arange(4) < np.array([[4], [1], [3], [2], [4]])


def beams_in_a_loop(model, source, visible, width):
    """All beams when the first has ended: `(target, score, ended)`, and the number of passes."""
    end, live, passes = model.vocab, [((), 0.0, False)], 0
    while not live[0][2]:
        passes, grown = passes + 1, []
        for target, score, ended in live:
            if ended:
                grown.append((target, score, True))
                continue
            read = np.array([end, *target])
            logits = referee.forward(model, source, visible, read, [True] * len(read))[1][-1]
            law = logits - np.log(np.exp(logits).sum())
            grown.append((target, score + law[end], True))
            if len(target) < LONGEST:
                grown += [((*target, v), score + law[v], False) for v in range(end)]
        live = sorted(grown, key=lambda one: -one[1])[:width]
    return live, passes


@pytest.mark.parametrize(("name", "seed"), [*zip(CONFIGS, (5, 8, 8), strict=True)])
def test_a_search_that_remembers_finds_what_one_that_reads_again_finds(name, seed):
    model, stops = random_models.translator(CONFIGS[name], seed), set()
    for width in (1, 3) if name == "relative" else (3,):
        found = jax.tree.map(np.asarray, beam(model, SOURCE, VISIBLE, width=width, longest=LONGEST))
        for i in range(len(SOURCE)):
            live, passes = beams_in_a_loop(model, SOURCE[i], VISIBLE[i], width)
            assert found.passes[i] == passes
            stops.add(passes)
            for k, (target, score, _) in enumerate(live):
                padded = [*target, *[-1] * (LONGEST - len(target))]
                assert found.tokens[i, k].tolist() == padded
                np.testing.assert_allclose(found.log_probs[i, k], score, atol=1e-5)
    assert len(stops) > 1  # with these seeds, rows end at different times


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_named_in_a_sentence():
    model = random_models.translator(CONFIGS["learned, positional, tied"])
    with pytest.raises(ValueError, match="7 positions"):
        model.by_token(2, 6)
    with pytest.raises(ValueError, match="targets is 0"):
        model.by_token(0, 3)
    parallel = TranslatorConfig(4, heads=2, width=8, mlp_width=12, max_length=6, lengths=3)
    with pytest.raises(ValueError, match="reads ahead"):
        random_models.translator(parallel).by_token(2, 3)
