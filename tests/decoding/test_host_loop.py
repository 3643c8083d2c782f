"""The loop in Python makes the strings of the compiled samplers; a tiny Llama is read with its cache."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tables import END, LENGTH, PrefixWorld, Scores, node

from minicosm.decoding import (
    Ancestral,
    Backtracking,
    BlockBestOfN,
    ProbeVerifier,
    Rejection,
    Status,
    sample,
    sample_on_host,
)

WORLD = PrefixWorld(23, end=0.3)
KEY = jax.random.key(5)


class TableReader:
    def __init__(self):
        self.string: list[int] = []

    def read(self, tokens):
        self.string += list(tokens)

    def back(self, n):
        del self.string[n:]

    def law(self):
        with np.errstate(divide="ignore"):
            return np.log(WORLD.laws[node(self.string)])

    def state(self):
        return None


def score(tokens, state):
    return WORLD.unrelated[node(tokens)]


@pytest.mark.parametrize(
    "sampler",
    [
        Ancestral(temperature=0.8, top_p=0.9),
        Backtracking(quota=2, stride=2),
        Backtracking(
            quota=3, stride=2, check_during_refill=True, refill="index", check_prompt=True
        ),
        Backtracking(
            quota=3, stride=1, erasable_prompt=1, once_per_prefix=True, check_during_refill=True
        ),
        Backtracking(
            quota=3, stride=1, force_first=True, refill="none", erasable_prompt=1, record=3
        ),
        BlockBestOfN(count=3, size=2, separator=0, blocks=1),
        BlockBestOfN(count=2, size=9, separator=1, blocks=9),
    ],
)
def test_same_key_same_strings_same_counters(sampler):
    prompts = np.array([[0], [1], [1]] * 8)
    for budget in (10**6, 3):
        mine = sample_on_host(
            sampler,
            TableReader(),
            score,
            prompts.tolist(),
            KEY,
            new_tokens=LENGTH - 1,
            end=END,
            max_calls=budget,
        )
        compiled = sample(
            sampler,
            WORLD.generator,
            Scores(WORLD.unrelated),
            prompts,
            KEY,
            length=LENGTH,
            end=END,
            max_calls=budget,
            chunk=8,
        )
        for name, value in vars(compiled).items():
            if value is not None:
                np.testing.assert_allclose(getattr(mine, name), value, rtol=1e-6, err_msg=name)


def test_budgets():
    prompts = [[0], [1]]
    few = sample_on_host(Ancestral(), TableReader(), None, prompts, KEY, new_tokens=3, max_calls=2)
    assert (few.calls == 2).all() and (few.status == Status.BUDGET).all()
    assert (few.lengths == 3).all()
    late = sample_on_host(Ancestral(), TableReader(), None, prompts, KEY, new_tokens=3, seconds=0.0)
    assert (late.status == Status.BUDGET).all() and late.tokens[:, 0].tolist() == [0, 1]
    settings = Backtracking(quota=9, stride=1)
    asked = sample_on_host(
        settings, TableReader(), lambda *_: 0.0, prompts, KEY, new_tokens=9, max_verifier_calls=2
    )
    assert (asked.verifier_calls == 2).all() and (asked.status == Status.BUDGET).all()
    unread = TableReader()
    sample_on_host(Ancestral(), unread, None, prompts, KEY, new_tokens=3, seconds=0.0)
    assert unread.string == []


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input():
    def draw(sampler=None, score=None, prompts=((0,),), new_tokens=3):
        sampler = Backtracking() if sampler is None else sampler
        sample_on_host(sampler, TableReader(), score, prompts, KEY, new_tokens=new_tokens)

    with pytest.raises(ValueError, match="the sampler is Rejection; it must be one of Ancestral"):
        draw(Rejection())
    with pytest.raises(ValueError, match="BlockBestOfN needs a verifier"):
        draw(BlockBestOfN(size=2))
    with pytest.raises(ValueError, match="score nan; scores must be finite"):
        draw(score=lambda tokens, state: np.nan)
    with pytest.raises(ValueError, match=r"score 1\.5; it must be between 0 and 1"):
        draw(score=lambda tokens, state: 1.5)
    with pytest.raises(ValueError, match="there are no prompts"):
        draw(prompts=())
    with pytest.raises(ValueError, match="new_tokens is 0"):
        draw(new_tokens=0)
    small = TableReader()
    small.context = 3
    with pytest.raises(
        ValueError, match="strings of 4 tokens are asked for, prompt included; the mod"
    ):
        sample_on_host(Ancestral(), small, None, [[0]], KEY, new_tokens=3)
    with pytest.raises(ValueError, match="seconds is nan"):
        sample_on_host(Ancestral(), TableReader(), None, [[0]], KEY, new_tokens=3, seconds=np.nan)


@pytest.fixture(scope="module")
def llama():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    torch.set_num_threads(1)  # of a tiny model threads only wait for each other
    config = transformers.LlamaConfig(
        vocab_size=11,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    # In double precision, in which orders of sums do not matter.
    return torch, transformers.LlamaForCausalLM(config).eval().double()


def test_a_llama_with_its_cache_is_the_llama_without(llama):
    from minicosm.decoding.hugging_face import HuggingFaceReader

    torch, model = llama
    reader = HuggingFaceReader(model, layer=1)
    draw = np.random.default_rng(0)
    string: list[int] = []
    for _ in range(25):
        back = int(draw.integers(0, len(string) + 1)) if draw.random() < 0.4 else len(string)
        reader.back(back)
        more = draw.integers(0, 11, draw.integers(1, 4)).tolist()
        string = string[:back] + more
        reader.read(more)
        with torch.no_grad():
            whole = model(torch.tensor([string]), output_hidden_states=True)
        law = torch.log_softmax(whole.logits[0, -1], -1).numpy()
        # The reader answers in float32, of logits that were rounded to it.
        rounding = 8 * np.finfo(np.float32).eps * float(whole.logits.abs().max())
        np.testing.assert_allclose(reader.law(), law, atol=rounding)
        np.testing.assert_allclose(reader.state(), whole.hidden_states[1][0, -1], rtol=2e-7)
        if len(string) > 20:
            reader.back(0)
            string = []
    with pytest.raises(ValueError, match="cannot go back to 99 tokens"):
        reader.back(99)
    reader.back(0)
    with pytest.raises(
        ValueError, match="string has 40 tokens; the model's context has room for 32"
    ):
        reader.read([1] * 40)
    with pytest.raises(ValueError, match="a prompt must have at least one token"):
        reader.law()
    with pytest.raises(ValueError, match=r"layer is 3; this model has the layers 0\.\.2"):
        HuggingFaceReader(model, layer=3)


def test_backtracking_on_a_llama(llama):
    """Greedy strings are the model's own; a probe on its hidden states takes tokens back."""
    from minicosm.decoding.hugging_face import HuggingFaceReader, probe_score

    torch, model = llama
    reader = HuggingFaceReader(model, layer=2)
    prompts = [[1, 2, 3], [4]]
    greedy = sample_on_host(Ancestral(temperature=0.0), reader, None, prompts, KEY, new_tokens=8)
    for row, prompt in enumerate(prompts):
        string = list(prompt)
        for _ in range(8):
            with torch.no_grad():
                string.append(int(model(torch.tensor([string])).logits[0, -1].argmax()))
        assert greedy.string(row).tolist() == string
    weight = np.random.default_rng(0).normal(size=(16, 1))
    probe = ProbeVerifier((weight,), (np.zeros(1),))
    settings = Backtracking(quota=2, stride=2, record=2)
    trace = sample_on_host(settings, reader, probe_score(probe), prompts * 4, KEY, new_tokens=8)
    assert trace.backtracks.sum() > 0 and trace.prompt_preserved.all()
    new = trace.lengths - trace.prompt_lengths
    assert (new == 8).all() and (trace.calls >= new).all() and (trace.calls <= 8 + 2 * 2).all()
    string = trace.fired[trace.fired_lengths > 0][0]
    with torch.no_grad():
        ids = torch.tensor([string[string >= 0].tolist()])
        state = model(ids, output_hidden_states=True).hidden_states[2][0, -1].numpy()
    assert float(probe.probability(jnp.asarray(state))) < 0.5
