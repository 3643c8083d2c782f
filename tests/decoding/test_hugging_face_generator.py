"""A Hugging Face model under every sampler: the laws of the model, whatever was read and taken back."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from tables import END, LENGTH, NODES, VOCAB, Scores, Tables, node

from minicosm.decoding import (
    VGB,
    Ancestral,
    Backtracking,
    BlockBestOfN,
    HuggingFaceGenerator,
    ProbeVerifier,
    Rejection,
    generate,
    sample,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
KEY = jax.random.key(5)
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 32}


def llama(vocab=VOCAB):
    config = transformers.LlamaConfig(
        vocab_size=vocab, hidden_size=16, intermediate_size=32, num_key_value_heads=1,
        initializer_range=0.5, bos_token_id=None, eos_token_id=None, **SIZES,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def gpt2(vocab=VOCAB):
    config = transformers.GPT2Config(
        vocab_size=vocab, n_embd=16, n_layer=2, n_head=2, n_positions=32,
        initializer_range=0.5, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


@pytest.fixture(scope="module", params=[llama, gpt2], ids=["llama", "gpt2"])
def model(request):
    torch.manual_seed(0)
    torch.set_num_threads(1)  # of a tiny model threads only wait for each other
    return request.param().eval()


def whole(model, string):
    """Law and hidden states of a string, read at once."""
    with torch.no_grad():
        answer = model(torch.tensor([list(string)]), output_hidden_states=True)
    return torch.log_softmax(answer.logits[0, -1], -1).numpy(), answer.hidden_states


def test_rows_that_grow_and_shrink_have_the_laws_of_their_strings(model):
    generator = HuggingFaceGenerator(model, layer=1)
    draw = np.random.default_rng(0)
    strings = [draw.integers(0, VOCAB, size).tolist() for size in (1, 4, 2, 3)]
    for _ in range(60):
        tokens = np.zeros((4, 24), np.int32)
        for row, string in zip(tokens, strings, strict=True):
            row[: len(string)] = string
        sizes = np.array([len(string) for string in strings])
        laws, states = generator._laws(tokens, sizes), generator._last_states(tokens, sizes)
        assert generator.error is None
        for law, state, string in zip(laws, states, strings, strict=True):
            exact, hidden = whole(model, string)
            np.testing.assert_allclose(law, exact, atol=2e-5)  # float32, another order of sums
            np.testing.assert_allclose(state, hidden[1][0, -1], atol=2e-5)
        for string in strings:
            chance = draw.random()
            if chance < 0.3:
                del string[max(1, len(string) - int(draw.integers(1, 4))) :]
            elif chance < 0.9 and len(string) < 20:
                string += draw.integers(0, VOCAB, draw.integers(1, 4)).tolist()
            else:
                string[-1] = int(draw.integers(0, VOCAB))
    (batch,) = generator._read.values()
    assert batch._kept[0][0].shape[2] <= 48  # twice the longest string, however often it changed


def test_the_model_is_run_for_laws_that_are_asked_for_and_not_known(model):
    generator = HuggingFaceGenerator(model)
    tokens, sizes = np.array([[1, 2, 0], [2, 1, 0]], np.int32), np.array([2, 2])
    asked = generator._laws(tokens, sizes, np.array([True, False]))
    assert generator.passes == 1
    np.testing.assert_allclose(asked[0], whole(model, [1, 2])[0], atol=2e-5)
    np.testing.assert_allclose(asked[1], -np.log(VOCAB), rtol=1e-6)
    shorter = generator._laws(
        tokens, sizes - 1
    )  # two rows whose laws after one token are not known
    assert generator.passes == 2
    np.testing.assert_allclose(shorter[1], whole(model, [2])[0], atol=2e-5)
    generator._laws(tokens, sizes, np.array([False, False]))
    np.testing.assert_array_equal(generator._laws(tokens, sizes - 1), shorter)
    assert generator.passes == 2


@pytest.fixture(scope="module")
def table(model):
    """The model's laws after every prefix that follows the token 1."""
    laws = np.full((NODES, VOCAB), 1 / VOCAB)
    for n in range(LENGTH):
        for string in itertools.product(range(VOCAB), repeat=n):
            laws[node(string)] = np.exp(whole(model, (1, *string))[0])
    return laws / laws.sum(1, keepdims=True)


@pytest.mark.parametrize(
    "sampler",
    [
        Ancestral(temperature=0.8, top_p=0.9),
        Backtracking(quota=3, stride=2, check_during_refill=True, record=2),
        BlockBestOfN(count=2, size=3, separator=(0, 1)),
        Rejection(threshold=0.6),
        VGB(steps=30),
        VGB(output="first_leaf", proposals="repeat"),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_same_key_same_strings_same_counters_as_the_compiled_engine(model, table, sampler):
    """Laws agree to rounding, so strings do, sampler by sampler, VGB included."""
    verifier = Scores(np.random.default_rng(3).uniform(0.2, 1, NODES))
    generator = HuggingFaceGenerator(model, start=1)
    at = {"key": KEY, "length": LENGTH, "count": 12, "end": END, "verifier": verifier, "chunk": 8}
    mine = generate(generator, sampler, **at)
    compiled = generate(Tables(table), sampler, **at)
    for name, value in vars(compiled).items():
        if value is not None:
            np.testing.assert_allclose(getattr(mine, name), value, rtol=1e-5, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("proposals", ["none", "repeat"])
def test_vgb_agrees_with_the_compiled_engine_by_chi_square(model, table, proposals):
    """Strings of the model against those of the compiled engine on its tabulated laws, with another key."""
    scores = np.random.default_rng(3).uniform(0.2, 1, NODES)
    sampler = VGB(steps=30, proposals=proposals)
    at = {"length": LENGTH, "count": 600, "end": END, "verifier": Scores(scores), "chunk": 600}
    mine = generate(HuggingFaceGenerator(model, start=1), sampler, key=KEY, **at)
    others = jax.random.key(6)
    compiled = generate(Tables(table), sampler, key=others, **{**at, "count": 6000})
    strings = {tuple(row) for trace in (mine, compiled) for row in trace.tokens.tolist()}
    counts = np.array(
        [
            [sum(tuple(row) == string for row in trace.tokens.tolist()) for string in strings]
            for trace in (mine, compiled)
        ]
    )
    often = counts.sum(0) >= 50
    rare = counts[:, ~often].sum(1, keepdims=True)
    cells = np.concatenate([counts[:, often], *([rare] if rare.sum() else [])], 1)
    assert cells.shape[1] > 5
    assert scipy.stats.chi2_contingency(cells).pvalue > 1e-3
    for name in ("calls", "verifier_calls"):
        a, b = getattr(mine, name), getattr(compiled, name)
        assert scipy.stats.ttest_ind(a, b, equal_var=False).pvalue > 1e-3, name


def test_a_probe_on_hidden_states_takes_tokens_back(model):
    generator = HuggingFaceGenerator(model, layer=2)
    weight = np.random.default_rng(0).normal(size=(16, 1))
    probe = ProbeVerifier((weight,), (np.zeros(1),))
    prompts = np.array([[1, 2], [0, 0]] * 4)
    settings = Backtracking(quota=2, stride=2, record=2)
    trace = sample(settings, generator, probe, prompts, KEY, length=10)
    assert trace.backtracks.sum() > 0 and trace.prompt_preserved.all()
    string = trace.fired[trace.fired_lengths > 0][0]
    string = string[string >= 0].tolist()
    state = whole(model, string)[1][2][0, -1].numpy()
    assert float(probe.probability(jnp.asarray(state))) < 0.5
    np.testing.assert_allclose(generator.states(string)[-1], state, atol=2e-5)
    again = sample(
        settings, generator, probe, prompts, KEY, length=10
    )  # rows hold other strings now
    np.testing.assert_array_equal(again.tokens, trace.tokens)


@pytest.mark.usefixtures("unchecked_types")
def test_mistakes_are_sentences(model):
    with pytest.raises(TypeError, match="the model is a str; it must be a causal language model"):
        HuggingFaceGenerator("gpt2")
    with pytest.raises(ValueError, match=r"layer is 3; this model has the layers 0\.\.2"):
        HuggingFaceGenerator(model, layer=3)
    with pytest.raises(ValueError, match=r"start is 7; it must be one of 0\.\.2"):
        HuggingFaceGenerator(model, start=7)
    with pytest.raises(ValueError, match="a string is empty; give prompts of at least one token"):
        generate(model, key=KEY, length=4)
    with pytest.raises(ValueError, match="strings of 40 tokens are asked for"):
        generate(model, key=KEY, length=40, prompts=[1])
    with pytest.raises(ValueError, match="no layer is kept"):
        HuggingFaceGenerator(model).states([1])
