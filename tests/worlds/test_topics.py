"""Topic worlds against enumeration over documents, sets of topics and assignments, and against SciPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from minicosm.worlds import (
    LDA,
    Corruption,
    OverlappingTopics,
    TopicWorld,
    recover_topics,
    topic_agreement,
)

BERT = Corruption(0.15, 0.1, 0.1)
CORRUPTIONS = [BERT, Corruption(0.5, 0.3, 0.0), Corruption(0.6, 0.0, 0.4), Corruption(0.9, 0, 0)]
SETS = TopicWorld(3, 2, per_document=2)
DIRICHLET = TopicWorld(3, 1, dirichlet=0.3)
WORLDS = [SETS, DIRICHLET, TopicWorld(2, 2, per_document=1), TopicWorld(2, 1, per_document=2),
          TopicWorld(1, 3, dirichlet=0.5), TopicWorld(1, 2, per_document=1)]  # fmt: skip


def sequences(vocab, length):
    return np.array(list(itertools.product(range(vocab), repeat=length)))


def law(world, length):
    """Probabilities of all documents: of sets by a sum over sets, of mixtures by SciPy."""
    words = sequences(world.vocab, length)
    topics = words // world.words
    if world.per_document is not None:
        inside = world.topic_sets()[:, topics].all(axis=2).mean(axis=0)
        return words, inside / (world.per_document * world.words) ** length
    counts = np.array([np.bincount(t, minlength=world.topics) for t in topics])
    alpha = np.full(world.topics, world.dirichlet)
    ways = stats.multinomial(length, np.full(world.topics, 1 / world.topics)).pmf(counts)
    ways = ways * float(world.topics) ** length  # how many orders have these counts
    return words, stats.dirichlet_multinomial(alpha, length).pmf(
        counts
    ) / ways / world.words**length


@pytest.mark.parametrize(
    ("world", "length"), [(SETS, 3), (DIRICHLET, 3), (WORLDS[2], 1), (WORLDS[4], 2)]
)
def test_probabilities_and_conditionals_are_sums_over_documents(world, length):
    words, exact = law(world, length)
    assert exact.sum() == pytest.approx(1, abs=1e-12)
    with jax.enable_x64(True):
        answers = jax.jit(
            jax.vmap(lambda w: (world.log_prob(w), world.conditionals(w), world.next_logits(w)))
        )
        logs, masked, following = (np.asarray(x) for x in answers(words))
        found, following = np.exp(logs), np.exp(following)
    np.testing.assert_allclose(found, exact, atol=1e-10)
    for row, tokens in enumerate(words):
        if exact[row] == 0:
            continue
        for i in range(length):
            others = np.arange(length) != i
            same = (words == tokens)[:, others].all(axis=1)
            wanted = np.bincount(words[same, i], exact[same], world.vocab) / exact[same].sum()
            np.testing.assert_allclose(masked[row, i], wanted, atol=1e-10)
        for i in range(1, length):
            same = (words == tokens)[:, :i].all(axis=1)
            wanted = np.bincount(words[same, i], exact[same], world.vocab) / exact[same].sum()
            np.testing.assert_allclose(following[row, i - 1], wanted, atol=1e-10)


def test_an_impossible_document_has_no_law():
    world = TopicWorld(3, 1, per_document=1)
    answers = jax.jit(lambda w: (world.log_prob(w), world.posterior(w), world.conditionals(w)))
    log, posterior, laws = answers(np.array([0, 1, 2]))
    assert log == -np.inf
    np.testing.assert_array_equal(posterior.mixture, 0)
    np.testing.assert_array_equal(laws, 0)
    np.testing.assert_array_equal(world.denoised(np.array([1, 1, 0]), CORRUPTIONS[1]), 0)


def shown_given(tokens, shown, observed, chosen, corruption, vocab):
    """P(what is shown, which are chosen | document), position by position."""
    p = 1.0
    for w, s, o, c in zip(tokens, shown, observed, chosen, strict=True):
        if not c:
            p *= (1 - corruption.chosen) * (o and s == w)
        elif not o:
            p *= corruption.chosen * (1 - corruption.kept - corruption.random)
        else:
            p *= corruption.chosen * (corruption.kept * (s == w) + corruption.random / vocab)
    return p


@pytest.mark.parametrize("world", WORLDS, ids=repr)
@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=repr)
def test_the_best_prediction_is_a_sum_over_documents_and_choices(world, corruption):
    length = 3 if world.vocab < 5 else 2
    words, exact = law(world, length)
    rng = np.random.default_rng(1)
    for _ in range(4):
        shown = rng.integers(0, world.vocab, length)
        observed = rng.random(length) < 0.7
        found = world.bayes_predict(shown, observed, corruption)
        for j in range(length):
            wanted = np.zeros(world.vocab)
            for tokens, p in zip(words, exact, strict=True):
                for chosen in itertools.product((False, True), repeat=length):
                    if chosen[j]:
                        channel = shown_given(
                            tokens, shown, observed, chosen, corruption, world.vocab
                        )
                        wanted[tokens[j]] += p * channel
            if wanted.sum() > 0:
                np.testing.assert_allclose(found[j], wanted / wanted.sum(), atol=1e-10)
            else:
                np.testing.assert_array_equal(found[j], 0)


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=2),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.sampled_from(CORRUPTIONS[:3]),
)
def test_the_mean_mixture_of_two_topics_is_an_integral(counts, alpha, corruption):
    world = TopicWorld(2, 3, dirichlet=alpha)
    a, b = corruption.a, corruption.b

    def density(u, power):
        """The likelihood times the density of `u = theta^alpha`, which has no pole at 0, from one half."""
        theta = u ** (1 / alpha)
        logs = (alpha - 1) * np.log1p(-theta)
        logs += counts[power[1]] * np.log(a * theta + b / 2 + (b == 0) * 1e-300)
        logs += counts[1 - power[1]] * np.log(a * (1 - theta) + b / 2)
        return np.exp(logs - top) * (theta if power[0] else 1)

    # theta below one half by u = theta^alpha, above it by the same for 1 - theta
    share = max(counts[0], 1) / max(sum(counts), 1)
    top = sum(
        c * np.log(a * s + b / 2 + 1e-300) for c, s in zip(counts, (share, 1 - share), strict=True)
    )
    half = 0.5**alpha
    options = {"epsabs": 1e-14, "epsrel": 1e-12, "limit": 500}
    low, high = (quad(density, 0, half, args=((0, w),), **options)[0] for w in (0, 1))
    low_mean, high_mean = (quad(density, 0, half, args=((1, w),), **options)[0] for w in (0, 1))
    wanted = (low_mean + high - high_mean) / (low + high)
    assert world.denoised(np.array(counts), corruption)[0] == pytest.approx(wanted, abs=1e-8)


@given(
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
    st.integers(1, 4),
    st.sampled_from(CORRUPTIONS),
)
def test_the_posterior_of_a_set_is_a_sum_over_sets(counts, tau, corruption):
    world = TopicWorld(4, 2, per_document=tau)
    sets = world.topic_sets()
    each = corruption.a * sets / tau + corruption.b / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(np.array(counts) > 0, counts * np.log(each), 0).sum(axis=1)
    weights = np.exp(logs - logs.max()) if logs.max() > -np.inf else np.zeros(len(sets))
    wanted = (weights @ sets) / weights.sum() / tau if weights.sum() else np.zeros(4)
    np.testing.assert_allclose(world.denoised(np.array(counts), corruption), wanted, atol=1e-12)


def test_long_documents_are_no_trouble():
    world = TopicWorld(10, 10, dirichlet=0.1)
    counts = np.array([4000, 900, 3, 1, 0, 0, 0, 0, 0, 0])
    found = world.denoised(counts, BERT)
    assert found.sum() == pytest.approx(1) and found[0] == pytest.approx(0.816, abs=0.01)
    assert 0 < found[4] < 1e-3  # three words of 4904 are likely noise
    sets = TopicWorld(10, 10, per_document=3).denoised(counts, BERT)
    np.testing.assert_allclose(sets[:2], 1 / 3)
    assert sets.sum() == pytest.approx(1)


@pytest.mark.parametrize("tau", [1, 2, 4])
@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=repr)
def test_the_least_losses_of_infinite_documents(tau, corruption):
    world = TopicWorld(4, 3, per_document=tau)
    size, V = 3 * tau, world.vocab
    joint = np.full((size, V), corruption.random / V) + corruption.kept * np.eye(size, V)
    joint /= size  # label in the document, word that is shown
    mask = np.full(size, (1 - corruption.kept - corruption.random) / size)
    laws = np.concatenate([joint, mask[:, None]], axis=1)
    totals = laws.sum(axis=0)
    laws, totals = laws[:, totals > 0], totals[totals > 0]
    given_shown = laws / totals
    squared = (totals * (1 - (given_shown**2).sum(axis=0))).sum()
    logs = np.log(np.where(laws > 0, given_shown, 1))
    assert world.bayes_loss(corruption) == pytest.approx(squared, abs=1e-12)
    assert world.bayes_loss(corruption, "cross-entropy") == pytest.approx(
        -(laws * logs).sum(), abs=1e-12
    )
    assert world.stage1_loss() == pytest.approx(1 - 1 / size)


def test_digits_of_the_least_losses():
    world = TopicWorld(10, 10, per_document=3)
    assert world.stage1_loss() == pytest.approx(0.966667, abs=5e-7)
    assert world.bayes_loss(BERT) == pytest.approx(0.892308, abs=5e-7)


# -- general LDA --------------------------------------------------------------------------------


def by_assignments(world, tokens):
    """Probability and mean mixture as a sum over all ways to give words to topics."""
    W, alpha = np.asarray(world.W, float), np.asarray(world.alpha, float)
    K, total, mean = len(alpha), 0.0, np.zeros(len(alpha))
    for z in itertools.product(range(K), repeat=len(tokens)):
        n = np.bincount(z, minlength=K)
        ways = stats.multinomial(len(z), np.full(K, 1 / K)).pmf(n) * float(K) ** len(z)
        p = stats.dirichlet_multinomial(alpha, len(z)).pmf(n) / ways if K > 1 else 1.0
        p *= np.prod(W[tokens, list(z)])
        total += p
        mean += p * (alpha + n) / (alpha.sum() + len(z))
    return total, (mean / total if total else mean)


@jax.jit
def lda_answers(world, tokens):
    return world.log_prob(tokens), world.posterior(tokens).mixture, world.conditionals(tokens)


@pytest.mark.parametrize(
    ("topics", "vocab", "length"), [(1, 2, 3), (3, 4, 4), (2, 1, 1), (2, 3, 3)]
)
@given(seed=st.integers(0, 2**31))
def test_lda_is_a_sum_over_assignments(topics, vocab, length, seed):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.ones(vocab), topics).T
    W[0, 0] *= rng.random() < 0.5  # a word that a topic does not have
    W = np.where(W.sum(axis=0) > 0, W, 1.0)
    world = LDA(W / W.sum(axis=0), rng.choice([0.1, 1.0, 2.5], topics))
    tokens = rng.integers(0, vocab, length)
    total, mean = by_assignments(world, tokens)
    with jax.enable_x64(True):
        log, posterior, found = (np.asarray(x) for x in lda_answers(world, tokens))
    assert np.exp(log) == pytest.approx(total, abs=1e-10)
    np.testing.assert_allclose(posterior, mean, atol=1e-10)
    for i in range(length):
        rest = np.delete(tokens, i)
        wanted = by_assignments(world, rest)[1] if length > 1 else world.alpha / world.alpha.sum()
        np.testing.assert_allclose(found[i], np.asarray(world.W) @ wanted, atol=1e-10)


def test_disjoint_topics_are_a_case_of_lda():
    world = TopicWorld(3, 2, dirichlet=0.3)
    W = np.kron(np.eye(3), np.full((2, 1), 0.5))
    general = LDA(W, np.full(3, 0.3))
    tokens = np.asarray(world.sample(jax.random.key(0), 9).tokens)
    seen = np.arange(9) % 3 > 0
    answers = jax.jit(lambda w, t: (w.log_prob(t), w.conditionals(t, seen)))
    with jax.enable_x64(True):
        for one, other in zip(answers(world, tokens), answers(general, tokens), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)


def test_a_lattice_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="40 words of 5 topics"):
        LDA(np.full((2, 5), 0.5), np.ones(5)).log_prob(np.zeros(40, int))


# -- draws --------------------------------------------------------------------------------------


def within(sample, wanted, errors=4.5):
    sample = np.asarray(sample, float)
    error = sample.std(ddof=1) / len(sample) ** 0.5
    assert abs(sample.mean() - wanted) <= errors * error + 1e-12


def test_documents_have_the_moments_that_the_world_states():
    for world in (TopicWorld(5, 2, per_document=2), TopicWorld(5, 2, dirichlet=0.4)):
        keys = jax.random.split(jax.random.key(3), 20_000)
        drawn = jax.jit(jax.vmap(lambda key, w=world: w.sample(key, 2)))(keys)
        theta, tokens = np.asarray(drawn.mixture, float), np.asarray(drawn.tokens)
        within(theta[:, 0] ** 2, world.moments.same)
        within(theta[:, 0] * theta[:, 1], world.moments.different)
        within(tokens[:, 0] // 2 == tokens[:, 1] // 2, 5 * world.moments.same)


def test_lengths_are_uniform_and_the_rest_is_padding():
    world = TopicWorld(3, 2, dirichlet=0.5, lengths=(2, 4))
    keys = jax.random.split(jax.random.key(0), 3000)
    tokens = np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key).tokens))(keys))
    lengths = (tokens < 6).sum(axis=1)
    assert (np.sort(tokens >= 6, axis=1) == (tokens >= 6)).all()
    for size in (2, 3, 4):
        within(lengths == size, 1 / 3)


def test_the_law_of_how_many_topics_a_document_has():
    world = TopicWorld(3, 1, dirichlet=0.2)
    words, exact = law(world, 4)
    count = np.array([len(set(row)) for row in words.tolist()])
    np.testing.assert_allclose(world.topic_count_law(4), np.bincount(count, exact, 4), atol=1e-12)
    # most documents of the synthetic experiments have words of 2 to 4 topics
    laws = [TopicWorld(10, 10, dirichlet=0.1).topic_count_law(n) for n in range(100, 151)]
    assert np.mean(laws, axis=0)[2:5].sum() == pytest.approx(0.58, abs=0.005)
    assert np.mean(laws, axis=0) @ np.arange(11) == pytest.approx(4.22, abs=0.005)


def test_a_corruption_has_the_rates_that_it_states():
    corruption = Corruption(0.3, 0.2, 0.4)
    assert corruption.a + corruption.b + corruption.k == pytest.approx(1)
    assert (BERT.a, BERT.b, BERT.k) == pytest.approx((0.865, 0.015, 0.12))
    keys = jax.random.split(jax.random.key(5), 4000)
    tokens = jnp.zeros(8, int)
    corrupt = jax.jit(
        jax.vmap(lambda key, real: corruption.corrupt(key, tokens, 4, real), (0, None))
    )
    drawn = corrupt(keys, np.ones(8, bool))
    shown, observed, chosen = (np.asarray(x) for x in drawn)
    assert chosen.any(axis=1).all()
    some = 1 - 0.7**8  # a document without any chosen position is drawn again
    within(chosen.mean(axis=1), 0.3 / some)
    within(~observed[chosen], 0.4)
    within((observed & (shown == 0))[chosen], 0.2 + 0.4 / 4)
    assert (shown[~chosen] == 0).all() and observed[~chosen].all()
    real = np.arange(8) < 5
    assert not np.asarray(corrupt(keys, real).chosen)[:, 5:].any()


def test_the_stand_in_for_text_has_the_law_of_words_that_it_states():
    world = OverlappingTopics.random(
        jax.random.key(0), topics=4, words=12, stop_words=3, most=3, sparsity=0.2
    )
    keys = jax.random.split(jax.random.key(1), 4000)
    drawn = jax.jit(jax.vmap(lambda key: world.sample(key, 5)))(keys)
    tokens, theta = np.asarray(drawn.tokens), np.asarray(drawn.mixture)
    for word, p in enumerate(world.law()):
        within((tokens == word).mean(axis=1), p)
    assert world.law().sum() == pytest.approx(1) and world.content.sum() == 12
    assert (theta > 0).sum(axis=1).max() == 3 and (theta > 0).sum(axis=1).min() == 1


# -- recovery -----------------------------------------------------------------------------------


@given(st.integers(0, 2**31), st.integers(2, 30))
def test_agreement_is_that_of_scikit_learn(seed, words):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, (2, words))
    found = topic_agreement(first, second)
    assert found.rand == pytest.approx(metrics.adjusted_rand_score(second, first), abs=1e-12)
    assert topic_agreement((first + 1) % 4, first) == (1, 1)


def test_topics_are_recovered_from_a_matrix_with_blocks():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(5), 6))
    blocks = (labels[:, None] == labels).astype(float)
    noisy = blocks + 5 * np.eye(30) + 0.2 * rng.normal(size=(30, 30))
    assert topic_agreement(recover_topics(noisy, 5), labels).share == 1
    nothing = np.eye(30) + 0.2 * rng.normal(size=(30, 30))
    assert topic_agreement(recover_topics(nothing, 5), labels).rand < 0.3


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TopicWorld(3, 2, per_document=4), "per_document is 4; there are 3 topics"),
        (lambda: TopicWorld.of_vocabulary(101, 10, dirichlet=0.1), "10 topics do not divide"),
        (lambda: Corruption(0.0), "chosen is 0; it must be above 0 and below 1"),
        (lambda: Corruption(1.0), "chosen is 1; it must be above 0 and below 1"),
        (lambda: Corruption(0.5, 0.5, 0.5), "kept \\+ random is 1"),
        (lambda: TopicWorld(3, 2), "one of them must be given"),
        (lambda: TopicWorld(3, 2, dirichlet=1.0, lengths=(5, 2)), "low must be at most high"),
        (lambda: TopicWorld(3, 2, dirichlet=1.0).sample(jax.random.key(0)), "no lengths of its own"),
        (lambda: TopicWorld(3, 2, dirichlet=1.0).bayes_loss(BERT), "infinite documents need"),
        (lambda: TopicWorld(3, 2, dirichlet=1.0).log_prob(np.array([0, 6])), "outside the vocabulary"),
        (lambda: TopicWorld(60, 1, per_document=30).topic_sets(), "at most 65536 are listed"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_meets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
