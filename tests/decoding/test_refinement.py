"""Refinement and beam search against loops in NumPy, on models that are tables."""

import itertools
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.decoding import beam, refine
from minicosm.decoding.refinement import Pass, constant, drop_repeats, linear, stutter

V, S, T, K, STEPS = 5, 3, 6, 2, 5


class Table(eqx.Module):
    """Logits of place t: tables of the token there, of its left neighbour (not after the end), of the
    source and of the place. Causal: of the token before and the one before that."""

    here: jax.Array
    left: jax.Array
    word: jax.Array
    place: jax.Array
    law: jax.Array
    vocab: int = eqx.field(static=True)
    config: SimpleNamespace = eqx.field(static=True)

    def __init__(self, seed, vocab, causal):
        rng = np.random.default_rng(seed)
        out = vocab + causal
        draw = lambda *shape: np.asarray(rng.normal(size=shape), np.float32)  # noqa: E731
        self.here, self.left = draw(out + 1, out), draw(out + 1, out)
        self.word, self.place, self.law = draw(9, out), draw(T + 1, out), draw(9, T)
        self.vocab, self.config = vocab, SimpleNamespace(lengths=T)

    def encode(self, source, visible):
        return jnp.where(visible, source, 0).sum()

    def length_logits(self, memory):
        return jnp.asarray(self.law)[memory]

    def decode(self, tokens, memory, visible):
        tokens = jnp.where(visible, tokens, 0)
        before = jnp.concatenate([jnp.zeros(1, tokens.dtype), tokens[:-1]])
        n = tokens.shape[0]
        return (
            jnp.asarray(self.here)[tokens] + jnp.asarray(self.left)[before]
            + jnp.asarray(self.word)[memory] + jnp.asarray(self.place)[:n]
        )  # fmt: skip

    def by_token(self, targets, room):
        return Again(self, targets, room)

    def numpy(self, tokens, word):
        """Log laws of a sequence without padding."""
        before = [0, *tokens[:-1]]
        rows = (
            self.here[list(tokens)]
            + self.left[before]
            + self.word[word]
            + self.place[: len(tokens)]
        )
        rows = rows.astype(float)
        return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


class Again(eqx.Module):
    """A table's tokens one after the other, by decoding all that were read again at every step."""

    table: Table
    targets: int = eqx.field(static=True)
    room: int = eqx.field(static=True)

    def begin(self, memory):
        return memory, jnp.zeros((self.targets, self.room + 1), jnp.int32)

    def step(self, past, at, parents, tokens):
        memory, read = past
        read = read[parents].at[:, at].set(tokens)
        known = jnp.arange(self.room + 1) <= at
        logits = jax.vmap(lambda row: self.table.decode(row, memory, known)[at])(read)
        return logits, (memory, read)


SOURCE = np.array([[1, 2, 0], [3, 1, 4], [0, 2, 7], [2, 2, 2]])
VISIBLE = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 0, 0]], bool)
WORDS = (SOURCE * VISIBLE).sum(axis=1)


def one_hypothesis(model, word, start, rejecter):
    """Inputs, outputs, scores of every pass that runs."""
    inputs, outputs, scores = [], [], []
    tokens = list(start)
    for step in range(1, STEPS + 1):
        law = model.numpy(tokens, word)
        new = law.argmax(axis=1).tolist()
        confident = law.max(axis=1)
        rejected = [False] * len(new)
        if rejecter == "stutter":
            rejected = [j > 0 and new[j] == new[j - 1] for j in range(len(new))]
        if rejecter == "linear":
            count = int(np.floor((1 - step / STEPS) * len(new) + 1e-6))
            rejected = [j in np.argsort(confident)[:count] for j in range(len(new))]
        following = [x if r else y for x, y, r in zip(tokens, new, rejected, strict=True)]
        inputs.append(tokens)
        outputs.append(new)
        scores.append(confident.sum())
        if (following if rejecter != "linear" else new) == tokens:
            break
        tokens = following
    return inputs, outputs, scores


def length_law(model, word):
    """`log P(N)` of N = 1..T."""
    law = np.asarray(model.law)[word].astype(float)
    return law - np.log(np.exp(law).sum())


@pytest.mark.parametrize("rejecter, alpha, joint", [(stutter, 0.0, False), (linear, 0.7, True)])
def test_refinement_equals_its_loop(rejecter, alpha, joint):
    model = Table(7, V, causal=False)
    start = np.random.default_rng(1).integers(0, V, (4, K, T))
    found = refine(
        model, SOURCE, VISIBLE, jax.random.key(0), steps=STEPS, candidates=K, rejecter=rejecter,
        start=start, alpha=alpha, joint=joint,
    )  # fmt: skip
    stops = set()
    for i in range(4):
        lengths = np.argsort(-np.asarray(model.law)[WORDS[i]])[:K] + 1
        np.testing.assert_array_equal(found.hypothesis_lengths[i], lengths)
        finals = []
        for k, N in enumerate(lengths):
            inputs, outputs, scores = one_hypothesis(
                model, WORDS[i], start[i, k, :N], rejecter.__name__
            )
            ran, law = len(outputs), length_law(model, WORDS[i])[N - 1]
            np.testing.assert_allclose(found.log_probs[i, k, :ran], scores, atol=1e-4)
            np.testing.assert_allclose(found.length_log_probs[i, k], law, atol=1e-5)
            scores = [score / ((5 + N) / 6) ** alpha + joint * law for score in scores]
            assert found.hypothesis_passes[i, k] == ran
            np.testing.assert_array_equal(found.inputs[i, k, :ran, :N], inputs)
            np.testing.assert_array_equal(found.outputs[i, k, :ran, :N], outputs)
            np.testing.assert_array_equal(
                found.outputs[i, k, ran:, :N], np.tile(outputs[-1], (STEPS - ran, 1))
            )
            np.testing.assert_allclose(found.scores[i, k, :ran], scores, atol=1e-4)
            np.testing.assert_allclose(found.scores[i, k, ran:], scores[-1], atol=1e-4)
            assert (np.asarray(found.outputs[i, k, :, N:]) == -1).all()
            finals.append((scores[-1], outputs[-1]))
            stops.add(ran)
        best = max(range(K), key=lambda k: finals[k][0])
        clean = [token for token, _ in itertools.groupby(finals[best][1])]
        assert found.best[i] == best and found.lengths[i] == len(clean)
        assert found.tokens[i].tolist() == clean + [-1] * (T - len(clean))
        assert found.passes[i] == found.hypothesis_passes[i].max()
    assert len(stops) > 1  # some stop early, some do not


def test_what_came_out_after_fewer_passes():
    model = Table(7, V, causal=False)
    start = np.random.default_rng(1).integers(0, V, (4, K, T))
    found = refine(
        model, SOURCE, VISIBLE, jax.random.key(0), steps=STEPS, candidates=K, rejecter=stutter,
        start=start, alpha=0.0, joint=False,
    )  # fmt: skip
    short = found.after(2)
    for i in range(4):
        finals = []
        for k, N in enumerate(found.hypothesis_lengths[i].tolist()):
            _, outputs, scores = one_hypothesis(model, WORDS[i], start[i, k, :N], "stutter")
            finals.append((scores[:2][-1], outputs[:2][-1]))
            assert short.hypothesis_passes[i, k] == min(len(outputs), 2)
        clean = [token for token, _ in itertools.groupby(max(finals)[1])]
        assert short.tokens[i].tolist() == clean + [-1] * (T - len(clean))
    with pytest.raises(ValueError, match="from 1 to 5"):
        found.after(6)


def test_hypotheses_are_scored_again_without_decoding():
    """Every combination of penalty and law of the length, after fewer passes than were decoded."""
    model = Table(7, V, causal=False)
    start = np.random.default_rng(1).integers(0, V, (4, K, T))
    found = refine(
        model, SOURCE, VISIBLE, jax.random.key(0), steps=STEPS, candidates=K, rejecter=stutter,
        start=start, alpha=0.0, joint=False,
    )  # fmt: skip
    choices: dict = {}
    for alpha, joint in itertools.product((0.0, 3.0), (False, True)):
        again = found.scored(alpha=alpha, joint=joint).after(2)
        for i in range(4):
            finals = []
            for k, N in enumerate(found.hypothesis_lengths[i].tolist()):
                _, outputs, sums = one_hypothesis(model, WORDS[i], start[i, k, :N], "stutter")
                score = sums[:2][-1] / ((5 + N) / 6) ** alpha
                score += length_law(model, WORDS[i])[N - 1] if joint else 0
                finals.append((score, outputs[:2][-1]))
            clean = [token for token, _ in itertools.groupby(max(finals)[1])]
            assert again.tokens[i].tolist() == clean + [-1] * (T - len(clean))
            assert again.lengths[i] == len(clean)
            np.testing.assert_allclose(again.scores[i, :, -1], [s for s, _ in finals], atol=1e-4)
        choices.setdefault(alpha, []).append(again.best.tolist())
    assert any(without != with_law for without, with_law in choices.values())
    plain = found.scored(joint=True, alpha=3.0).scored()
    np.testing.assert_array_equal(plain.best, found.best)
    np.testing.assert_array_equal(plain.scores, found.scores)


def test_noise_belongs_to_the_row_and_lengths_may_be_given():
    model = Table(3, V, causal=False)
    lengths = np.array([[T + 1], [3], [5], [1]])  # the predictor knows T
    other = np.where(np.arange(4)[:, None] < 2, SOURCE, 1)
    first, second = (
        refine(model, source, VISIBLE, jax.random.key(5), steps=1, lengths=lengths, longest=T + 1)
        for source in (SOURCE, other)
    )
    np.testing.assert_array_equal(first.inputs, second.inputs)
    np.testing.assert_array_equal(first.outputs[:2], second.outputs[:2])
    np.testing.assert_array_equal(first.hypothesis_lengths, lengths)
    drawn = np.asarray(first.inputs)[:, 0, 0]
    assert ((drawn >= 0) == (np.arange(T + 1) < lengths)).all() and drawn.max() < V
    laws = [
        length_law(model, word)[N - 1] for word, (N,) in zip(WORDS[1:], lengths[1:], strict=True)
    ]
    np.testing.assert_allclose(first.length_log_probs[:, 0], [-np.inf, *laws], atol=1e-5)
    assert not (drawn[0, :3] == drawn[1, :3]).all()
    with pytest.raises(ValueError, match="only 6 lengths"):
        refine(model, SOURCE, VISIBLE, jax.random.key(5), steps=1, candidates=7)
    with pytest.raises(ValueError, match="share is 1"):
        constant(1.0)


def test_a_constant_share_of_the_least_likely_is_rejected():
    seen = Pass(
        jnp.arange(5), jnp.arange(5), jnp.array([-3.0, -1.0, -2.0, -0.5, -9.0]),
        jnp.array([True] * 4 + [False]), jnp.int32(1), 4, jax.random.key(0),
    )  # fmt: skip
    rejected = jax.jit(lambda: constant(0.5)(seen))()
    assert rejected.tolist() == [True, False, True, False, False]
    tokens, length = jax.jit(drop_repeats)(jnp.array([3, 3, 3, 1, 3, 3]), jnp.int32(5))
    assert tokens.tolist() == [3, 1, 3, -1, -1, -1] and length == 3


# -- beams ------------------------------------------------------------------------------------

WORDS_LEFT, LONGEST = 3, 3  # tokens of the causal table, and how many may stand in a target


def log_prob(model, word, target):
    """Of a whole target with its end."""
    end = model.vocab
    law = model.numpy([end, *target], word)
    total = sum(law[j, token] for j, token in enumerate(target))
    return total + law[len(target), end]


def beams_in_a_loop(model, word, width):
    """The plain algorithm: all continuations, the best stay, until the first has ended."""
    end, live, passes = model.vocab, [((), 0.0, False)], 0
    while not live[0][2]:
        passes += 1
        grown = []
        for target, score, ended in live:
            if ended:
                grown.append((target, score, True))
                continue
            law = model.numpy([end, *target], word)[-1]
            grown.append((target, score + law[end], True))
            if len(target) < LONGEST:
                grown += [((*target, v), score + law[v], False) for v in range(end)]
        live = sorted(grown, key=lambda one: -one[1])[:width]
    return live[0], passes


@pytest.mark.parametrize("width", [1, 2, 60])
def test_beams_equal_their_loop_and_wide_ones_are_exact(width):
    model = Table(11, WORDS_LEFT, causal=True)
    found = beam(model, SOURCE, VISIBLE, width=width, longest=LONGEST)
    for i, word in enumerate(WORDS):
        (target, score, _), passes = beams_in_a_loop(model, word, width)
        length = int(found.lengths[i, 0])
        assert tuple(found.tokens[i, 0, :length].tolist()) == target
        assert found.passes[i] == passes
        np.testing.assert_allclose(found.log_probs[i, 0], score, atol=1e-4)
        if width == 1:
            assert passes == length + 1  # one for every token and for the end
        if width == 60:  # more than there are targets
            every = [
                target
                for n in range(LONGEST + 1)
                for target in itertools.product(range(WORDS_LEFT), repeat=n)
            ]
            best = max(every, key=lambda one: log_prob(model, word, one))
            assert target == best
