"""A Hugging Face model under every sampler: the laws of the model, whatever was read and taken back."""

import inspect
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
    FunctionVerifier,
    HuggingFaceGenerator,
    ProbeVerifier,
    RandomVerifier,
    Rejection,
    Thresholded,
    generate,
    hugging_face,
    sample,
)
from minicosm.decoding.hugging_face_memory import HuggingFaceMemory

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


def laws_of(generator, tokens, sizes, asked=None):
    """Laws of a batch of strings; if `asked`, by `law_when` with all rows running, and which are ready."""
    hidden = np.zeros((*tokens.shape[:1], tokens.shape[1] + 1, generator.width), np.float32)
    memory = HuggingFaceMemory(jnp.asarray(tokens), jnp.asarray(hidden))
    if asked is None:
        return np.asarray(jax.vmap(generator.law)(memory, jnp.asarray(sizes))), None
    given = (memory, jnp.asarray(sizes), jnp.asarray(asked), jnp.ones(len(tokens), bool))
    return tuple(np.asarray(part) for part in jax.vmap(generator.law_when)(*given))


def test_rows_that_grow_and_shrink_have_the_laws_of_their_strings(model):
    generator = HuggingFaceGenerator(model, layer=1)
    draw = np.random.default_rng(0)
    strings = [draw.integers(0, VOCAB, size).tolist() for size in (1, 4, 2, 3)]
    for _ in range(60):
        tokens = np.zeros((4, 24), np.int32)
        for row, string in zip(tokens, strings, strict=True):
            row[: len(string)] = string
        sizes = np.array([len(string) for string in strings])
        laws = laws_of(generator, tokens, sizes)[0]
        states = np.asarray(jax.vmap(generator._state)(jnp.asarray(tokens), jnp.asarray(sizes)))
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


def test_the_model_is_run_for_laws_that_are_asked_for_and_not_known(model):
    generator = HuggingFaceGenerator(model)
    tokens, sizes = np.array([[1, 2, 0], [2, 1, 0]], np.int32), np.array([2, 2])
    np.testing.assert_allclose(
        laws_of(generator, tokens[:1], sizes[:1])[0][0], whole(model, [1, 2])[0], atol=2e-5
    )
    assert generator.passes == 1
    laws_of(generator, tokens, sizes)
    assert generator.passes == 2  # another batch
    shorter = laws_of(generator, tokens, sizes - 1)[0]  # after one token they are not known
    assert generator.passes == 3
    np.testing.assert_allclose(shorter[1], whole(model, [2])[0], atol=2e-5)
    np.testing.assert_array_equal(laws_of(generator, tokens, sizes - 1)[0], shorter)
    laws_of(generator, tokens, sizes, [False, False])
    assert generator.passes == 3


def test_rows_wait_until_most_of_them_need_the_model(model):
    generator = HuggingFaceGenerator(model)
    draw = np.random.default_rng(1)
    tokens, sizes = draw.integers(0, VOCAB, (8, 5)).astype(np.int32), np.arange(8) % 4 + 1
    some = np.arange(8) < 4
    laws, ready = laws_of(generator, tokens, sizes, some)
    assert generator.passes == 0
    np.testing.assert_array_equal(ready, ~some)  # who asks for nothing has nothing to wait for
    np.testing.assert_allclose(laws, -np.log(VOCAB), rtol=1e-6)
    laws, ready = laws_of(generator, tokens, sizes, np.arange(8) < 6)
    assert generator.passes > 0 and ready.all()
    for law, string, size in zip(laws[:6], tokens, sizes, strict=False):
        np.testing.assert_allclose(law, whole(model, string[:size])[0], atol=2e-5)
    passes = generator.passes
    known, ready = laws_of(generator, tokens, sizes, some)
    assert generator.passes == passes and ready.all()
    np.testing.assert_array_equal(known[:4], laws[:4])
    alone = laws_of(generator, tokens[6:7], sizes[6:7], [True])
    assert alone[1].all() and generator.passes == passes + 1


def test_logits_of_no_use_are_left_out_if_the_model_can(model, monkeypatch):
    """Prompts of different lengths; the logits that the model computes, by the places of a row."""
    tokens, sizes = np.array([[1, 2, 0, 1], [2, 1, 0, 0], [0, 1, 1, 2]], np.int32), [4, 2, 4]
    places, forward = [], model.forward

    def seen(*given, **settings):
        answer = forward(*given, **settings)
        places.append(answer.logits.shape[1])
        return answer

    seen.__signature__ = inspect.signature(forward)
    monkeypatch.setattr(model, "forward", seen)
    few = laws_of(HuggingFaceGenerator(model), tokens, np.array(sizes))[0]
    seen.__signature__ = inspect.Signature()  # another model, which must compute them all
    every = laws_of(HuggingFaceGenerator(model), tokens, np.array(sizes))[0]
    assert places == [2, 4]
    np.testing.assert_allclose(few, every, atol=1e-6)
    for law, string, size in zip(few, tokens, sizes, strict=True):
        np.testing.assert_allclose(law, whole(model, string[:size])[0], atol=2e-5)


def test_laws_that_there_is_no_room_for_are_computed_again(model, monkeypatch):
    monkeypatch.setattr(
        hugging_face, "KEPT_BYTES", 2 * 4 * VOCAB * 2
    )  # two laws of each of two rows
    generator = HuggingFaceGenerator(model, start=1)
    tokens = np.array([[2, 1, 0, 2], [1, 1, 2, 0]], np.int32)
    for n in (4, 3, 2, 1, 0, 1, 2, 3, 4, 2, 4):
        laws = laws_of(generator, tokens, np.full(2, n))[0]
        for law, string in zip(laws, tokens, strict=True):
            np.testing.assert_allclose(law, whole(model, (1, *string[:n]))[0], atol=2e-5)


def test_fewer_rows_keep_what_was_read(model):
    generator = HuggingFaceGenerator(model, layer=1)
    tokens = np.random.default_rng(2).integers(0, VOCAB, (6, 7)).astype(np.int32)
    sizes = np.array([3, 5, 7, 2, 6, 4])
    laws = laws_of(generator, tokens, sizes)[0]
    left, passes = np.array([4, 1, 2]), generator.passes
    generator.keep_rows(left, of=6)
    np.testing.assert_array_equal(laws_of(generator, tokens[left], sizes[left])[0], laws[left])
    assert generator.passes == passes
    sizes = np.minimum(sizes[left] + 1, 7)
    for law, string, size in zip(
        laws_of(generator, tokens[left], sizes)[0], tokens[left], sizes, strict=True
    ):
        np.testing.assert_allclose(law, whole(model, string[:size])[0], atol=2e-5)
    assert generator.passes == passes + 1


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


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_waiting_changes_nothing(model, table, threshold):
    """Many rows, of which few are left in the end: strings, counters and the strings that a verifier is asked
    about are those of the compiled engine."""
    numbers = np.random.default_rng(4).uniform(0.3, 1, NODES)
    traces, asked = [], []
    for generator in (HuggingFaceGenerator(model, start=1), Tables(table)):
        seen = set()

        def score(tokens, seen=seen):
            seen.add(tuple(tokens.tolist()))
            return float(numbers[node(tokens)])

        verifier = FunctionVerifier(score)
        if threshold is not None:
            verifier = Thresholded(verifier, threshold)
        sampler = VGB(output="first_leaf", proposals="repeat", redraws=20)
        budget = {"length": LENGTH, "count": 80, "end": END, "chunk": 48, "segment": 16}
        traces.append(generate(generator, sampler, key=KEY, verifier=verifier, **budget))
        asked.append(seen)
    for name, value in vars(traces[1]).items():
        if value is not None:
            np.testing.assert_allclose(getattr(traces[0], name), value, rtol=1e-5, err_msg=name)
    assert asked[0] == asked[1] and len(asked[0]) > 10


def test_scores_by_chance_do_not_depend_on_waiting(model, table):
    """They depend on how many tokens a row has read: steps that are made again must not count."""
    sampler = VGB(output="first_leaf", proposals="repeat")
    budget = {"length": LENGTH, "count": 16, "end": END, "key": KEY}
    verifier = RandomVerifier(jax.random.key(8))
    mine = generate(HuggingFaceGenerator(model, start=1), sampler, verifier=verifier, **budget)
    compiled = generate(Tables(table), sampler, verifier=verifier, **budget)
    np.testing.assert_array_equal(mine.tokens, compiled.tokens)
    np.testing.assert_array_equal(mine.verifier_calls, compiled.verifier_calls)


def test_other_devices_are_called_by_pure_callback(model, monkeypatch):
    """There is none here: the call that works on all of them gives the same strings."""
    settings = {"key": KEY, "length": 6, "prompts": [[1], [2, 0]], "verifier": lambda tokens: 0.7}
    sampler = VGB(output="first_leaf", proposals="repeat")
    here = generate(HuggingFaceGenerator(model), sampler, **settings)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    there = generate(HuggingFaceGenerator(model), sampler, **settings)
    np.testing.assert_array_equal(here.tokens, there.tokens)
    np.testing.assert_array_equal(here.calls, there.calls)


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


def test_a_model_that_is_trained_on_is_another_model():
    torch.manual_seed(1)
    model = llama().eval()
    settings = {"key": KEY, "length": 8, "prompts": [[1]] * 16}
    before = generate(model, **settings)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    after = generate(model, **settings)
    fresh = generate(HuggingFaceGenerator(model), **settings)
    assert (before.tokens != after.tokens).any()
    np.testing.assert_array_equal(after.tokens, fresh.tokens)


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
