"""What holds for every sampler: keys and batches, budgets, prompts, and bad input in a sentence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tables import END, LENGTH, NODES, PrefixWorld, Scores, Tables

from minicosm.decoding import (
    VGB,
    Ancestral,
    Backtracking,
    BestOfN,
    BlockBestOfN,
    Rejection,
    distinct_prefixes,
    sample,
)
from minicosm.models import CachedTransformer, TransformerConfig, from_arrays
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import biased_coin, biased_coin_table

WORLD = PrefixWorld(23, end=0.3)
KEY = jax.random.key(3)


def draw(sampler, scores=None, prompts=None, **options):
    prompts = np.zeros((8, 0), np.int32) if prompts is None else prompts
    verifier = None if scores is None else Scores(scores)
    options = {"length": LENGTH, "end": END, "chunk": 8} | options
    generator = options.pop("generator", WORLD.generator)
    return sample(sampler, generator, verifier, prompts, options.pop("key", KEY), **options)


def test_strings_do_not_depend_on_the_batch():
    sampler = Backtracking(quota=2, stride=2)
    whole = draw(sampler, WORLD.unrelated, np.zeros((24, 1), int), segment=3)
    part = draw(sampler, WORLD.unrelated, np.zeros((16, 1), int), segment=3)
    assert np.array_equal(whole.tokens[:16], part.tokens)
    assert np.array_equal(whole.calls[:16], part.calls)
    assert len(np.unique(whole.tokens, axis=0)) > 1
    other = draw(sampler, WORLD.unrelated, np.zeros((24, 1), int), segment=3, key=jax.random.key(4))
    assert not np.array_equal(whole.tokens, other.tokens)


def test_prompts_of_different_lengths_are_read_after_their_own_end():
    prompts = np.array([[0, 1, 0], [0, 99, -5], [7, 7, 7], [1, 1, 9]] * 2)
    sizes = np.array([3, 1, 0, 2] * 2)
    trace = draw(Ancestral(temperature=0.0), None, prompts, prompt_lengths=sizes)
    for row, size in enumerate(sizes):
        string = list(prompts[row, :size])
        while len(string) < LENGTH and (not string or string[-1] != END):
            at = 0
            for token in string:
                at = 3 * at + 1 + token
            string.append(int(np.argmax(WORLD.laws[at])))
        assert trace.string(row).tolist() == string
        assert trace.calls[row] == len(string) - size
        assert trace.completion(row).tolist() == string[size:]
    assert trace.prompt_preserved.all() and trace.done.all()


def test_lengths_may_differ_by_row():
    lengths = np.array([1, 2, 3, 4] * 2)
    trace = draw(Ancestral(), None, length=lengths, end=None)
    assert np.array_equal(trace.lengths, lengths) and np.array_equal(trace.calls, lengths)


def test_a_complete_prompt_costs_nothing():
    prompts = np.array([[0, END], [0, 0]] * 4)
    trace = draw(Ancestral(), None, prompts, length=2)
    assert trace.done.all() and (trace.calls == 0).all()
    assert np.array_equal(trace.tokens, prompts)


def test_an_erased_prompt_is_reported():
    low = np.zeros(NODES)
    prompts = np.array([[0, 1]] * 8)
    settings = Backtracking(quota=1, stride=2, check_prompt=True, erasable_prompt=2, record=3)
    trace = draw(settings, low, prompts)
    greedy = [int(np.argmax(WORLD.laws[0]))]
    greedy.append(int(np.argmax(WORLD.laws[1 + greedy[0]])))
    assert np.array_equal(trace.prompt_preserved, np.full(8, greedy == [0, 1]))
    assert trace.tokens[0, :2].tolist() == greedy
    assert (trace.quota_left == 0).all() and (trace.backtracks == 1).all()
    assert trace.fired_lengths.tolist() == [[2, -1, -1]] * 8
    assert trace.fired[0, 0].tolist() == [0, 1, -1, -1]


def test_vgb_walks_back_from_a_dead_end_and_tells_its_path():
    """0 leads nowhere but looks good; 1 leads to the only valid string."""
    scores = np.zeros(NODES)
    scores[1] = scores[2] = 1  # the strings 0 and 1
    scores[9] = 1  # the string 1 END
    laws = np.tile([0.5, 0.4, 0.1], (NODES, 1))
    trace = draw(
        VGB(output="first_leaf", record=400), scores, generator=Tables(laws), end=END, length=2
    )
    assert trace.done.all() and (trace.tokens == [1, END]).all()
    assert trace.backtracks.sum() > 0
    for row in range(8):
        string = []
        for move in trace.path[row, : trace.moves[row]]:
            if move >= 0:
                string.append(int(move))
            elif move == -1:
                string.pop()
        assert string == [1, END]


def test_distinct_prefixes_that_the_first_leaf_rule_asks_about():
    """Their mean is the sum over inner nodes of the exact probabilities of a visit."""
    world = biased_coin(3)
    table = biased_coin_table(world, 0.5)
    tree = PrefixTree(world, table)
    prompts = np.zeros((300, 0), int)

    def walk(**options):
        settings = VGB(output="first_leaf", lazy=False, record=200, **options)
        verifier = world.verifier(table)
        return sample(settings, world, verifier, prompts, KEY, length=3, chunk=300)

    trace = walk(steps=2**20)
    found = distinct_prefixes(trace, length=3)
    wanted = tree.visits()[tree.inner].sum()
    assert abs(found.mean() - wanted) <= 4.5 * found.std() / np.sqrt(300)
    assert (found <= trace.calls).all() and (found >= 3).all() and (found < trace.calls).any()
    # Walks that begin again after six steps have their new beginnings in the path.
    again = walk(steps=6)
    assert (again.path == -4).any() and (distinct_prefixes(again, length=3) <= 7).all()
    with pytest.raises(ValueError, match="the trace keeps 0 moves of a walk"):
        distinct_prefixes(draw(Ancestral()), length=4)


class Broken(eqx.Module):
    """A generator with a law that does not sum to one, or that is no number."""

    value: np.ndarray

    @property
    def vocab(self):
        return 3

    def begin(self, room):
        return jnp.zeros(())

    def read(self, memory, n, token):
        return memory

    def law(self, memory, n):
        return jnp.log(jnp.array([0.2, 0.2, 0.2]) * self.value)


@pytest.mark.usefixtures("unchecked_types")
class TestBadInput:
    @pytest.mark.parametrize("value", [1.0, float("nan")])
    def test_laws(self, value):
        with pytest.raises(ValueError, match="probabilities do not sum to one"):
            draw(Ancestral(), generator=Broken(np.asarray(value, np.float32)))

    def test_prompts(self):
        long = np.zeros((8, 5), int)
        for prompts, options, words in (
            (long, {}, "prompt 0 has 5 tokens; the string, prompt included, may have at most 4"),
            (long[0], {}, r"prompts have shape \(5,\)"),
            (long + 0.5, {}, "dtype float64; they must be integers"),
            (long[:, :2] + 3, {}, r"prompt 0 has token 3 at index 0; it must be one of 0\.\.2"),
            (long, {"prompt_lengths": np.full(8, 6)}, "a prompt length is 6"),
            (long[:, :2], {"length": 0}, "length is 0"),
            (long[:, :2], {"end": 3}, "the end token is 3"),
            (long[:, :2], {"segment": 0}, "segment is 0"),
            (long[:, :2], {"chunk": 0}, "chunk is 0"),
            (long[:, :2], {"max_calls": -1}, "max_calls is -1"),
            (
                long[:, :2],
                {"seconds": float("nan")},
                "seconds is nan; it must be a finite number of",
            ),
        ):
            with pytest.raises(ValueError, match=words):
                draw(Ancestral(), None, prompts, **options)
        with pytest.raises(ValueError, match="Rejection needs a verifier"):
            draw(Rejection())
        config = TransformerConfig(3, layers=1, heads=1, width=4, max_length=4, causal=True)
        small = CachedTransformer(from_arrays(config, {}, fill=0), start=0)
        words = (
            "strings of 4 tokens are asked for, prompt included; the generator's context has room"
        )
        with pytest.raises(ValueError, match=words):
            draw(Ancestral(), generator=small)

    @pytest.mark.parametrize(
        "make, words",
        [
            (lambda: Backtracking(quota=0), "quota is 0; it must be a whole number of at least 1"),
            (lambda: Backtracking(stride=0), "stride is 0; it must be a whole number of at"),
            (lambda: Backtracking(refill="all"), "refill is 'all'; it must be one of argmax,"),
            (lambda: Backtracking(threshold=2.0), "threshold is 2.0; it must be a number between"),
            (lambda: Ancestral(temperature=-1.0), "temperature is -1.0; it must be a number of"),
            (lambda: Ancestral(top_p=1.5), "top_p is 1.5; it must be a number between 0 and 1"),
            (lambda: Ancestral(top_k=0), "top_k is 0"),
            (lambda: BestOfN(count=0), "count is 0"),
            (lambda: BlockBestOfN(), "a block needs a separator or a size"),
            (lambda: VGB(), "the output 'last' needs a number of steps"),
            (lambda: VGB(output="leaf"), "output is 'leaf'; it must be one of last, uniform"),
            (lambda: VGB(steps=1, proposals="all"), "proposals is 'all'; it must be one of none,"),
            (
                lambda: VGB(steps=1, proposals="hold", envelope=0.5),
                "envelope is 0.5; it must be a number of at least 1",
            ),
        ],
    )
    def test_settings(self, make, words):
        with pytest.raises(ValueError, match=words):
            make()
