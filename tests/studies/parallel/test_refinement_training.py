"""Training translators on a fertility world: teacher, losses, measures and the checks of the claims."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.decoding.refinement import Pass
from minicosm.lab import TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.models import Translator, TranslatorConfig
from minicosm.studies.parallel import STUDY
from minicosm.studies.parallel.claims import choices, stutter
from minicosm.studies.parallel.claims import refinement as claims
from minicosm.studies.parallel.experiments import diagnostics, measures, rejecters, teachers
from minicosm.studies.parallel.figures import refinement as figures
from minicosm.studies.parallel.trials import CAUSAL, DATA, EXACT, KEPT, MARGINALS, OPEN, Refining
from minicosm.training import Pairs, RefinementObjective, TranslationObjective
from minicosm.training.refinement import corrupt
from minicosm.worlds import Fertility

WORLD = Fertility((0.5, 0.3, 0.2), source_vocab=6, shortest=2, longest=4)
T = WORLD.longest_target


@eqx.filter_jit
def drawn_from(teacher):
    return jax.vmap(teacher.sample)(jax.random.split(jax.random.key(0), 40))


sampled = jax.jit(lambda key: WORLD.sample(key))


@pytest.fixture(scope="module")
def drawn():
    return [np.asarray(part) for part in drawn_from(teachers.Teacher(WORLD, replace=False))]


# -- teacher and measures ---------------------------------------------------------------------


def test_the_teacher_keeps_source_and_length_and_makes_the_target_most_likely(drawn):
    source, source_lengths, _, lengths = drawn
    taught = [np.asarray(part) for part in drawn_from(teachers.Teacher(WORLD, replace=True))]
    for part in (0, 1, 3):
        np.testing.assert_array_equal(taught[part], drawn[part])
    for i in range(40):
        L, N = source_lengths[i], lengths[i]
        phrases = WORLD.best_lengths(int(L), int(N))
        target = [source[i, s] * 3 + o for s, n in enumerate(phrases) for o in range(n)]
        assert taught[2][i].tolist() == target + [WORLD.vocab] * (T - N)
    assert not (taught[2] == drawn[2]).all()
    for i in range(0, 40, 8):  # without the teacher, what the world drew
        key = jax.random.split(jax.random.key(0), 40)[i]
        np.testing.assert_array_equal(sampled(key).target, drawn[2][i])


def test_quality_of_many_targets_is_that_of_each(drawn):
    """Padded rows at once against one target at a time; half of the targets are spoilt."""
    source, source_lengths, target, lengths = (part.copy() for part in drawn)
    rng = np.random.default_rng(0)
    for i in range(0, 40, 2):
        if i % 4:
            target[i, rng.integers(lengths[i])] = rng.integers(WORLD.vocab)
        else:
            lengths[i] -= 1
    found = WORLD.log_probs(source, source_lengths, target, lengths)
    expected = [
        WORLD.log_prob(source[i, : source_lengths[i]], target[i, : lengths[i]]) for i in range(40)
    ]
    np.testing.assert_allclose(found, expected)
    good = np.isfinite(expected)
    assert 0 < good.sum() < 40
    quality = measures.quality(WORLD, source, source_lengths, target, lengths)
    assert quality.valid == good.mean()
    assert np.isclose(quality.log_prob, np.array(expected)[good].mean())
    assert measures.stutter_share(np.array([[1, 1, 1, 2], [3, 3, 3, 3]]), np.array([4, 2])) == 0.75


def test_what_a_known_length_leaves_open():
    """One word and one token leave nothing open; two words and three tokens, the second and third."""
    world = Fertility((0.5, 0.5), source_vocab=4, shortest=1, longest=2)
    rows = np.array([[1, 1], [2, 3], [2, 5]])
    found, impossible = diagnostics.uncertainty(world, rows[:, 0], rows[:, 1])
    assert impossible == 1 and np.isclose(found, np.log(2))


# -- losses -----------------------------------------------------------------------------------


@eqx.filter_jit
def loss_of(task, model, key):
    return task(model, key, 0)


@eqx.filter_jit
def passed(model, source, visible, tokens, real):
    memory = model.encode(source, visible)
    lengths = model.length_logits(memory) if model.config.lengths else jnp.zeros(1)
    return model.decode(tokens, memory, real), lengths


def law_of(logits):
    rows = np.asarray(logits, float)
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


def test_the_loss_is_the_mean_over_stages_and_the_length(drawn):
    """Referee: the stages one after the other, cross-entropies summed by hand."""
    i = int(drawn[3].argmax())
    pair = Pairs(*(part[i : i + 1] for part in drawn))
    source, L, target, N = (part[i] for part in drawn)
    config = TranslatorConfig(WORLD.vocab, source_vocab=6, encoder_layers=1, decoder_layers=1,
                              width=8, heads=2, mlp_width=8, max_length=T, lengths=T)  # fmt: skip
    model = Translator(config, key=jax.random.key(1))
    model = eqx.tree_at(lambda m: m.embedding, model, 20 * model.embedding)  # laws far from uniform
    task = RefinementObjective(pair, batch=1, keep=0.4)
    key = jax.random.key(7)
    loss, metrics = loss_of(task, model, key)
    _, noise, _ = jax.random.split(jax.random.split(key, 1)[0], 3)
    tokens = np.asarray(corrupt(noise, jnp.asarray(target), 0.4, WORLD.vocab))
    stages, repeated = [], 0
    for _ in range(2):
        logits, lengths = passed(model, source, np.arange(4) < L, tokens, np.arange(T) < N)
        law = law_of(logits)
        stages.append(-law[np.arange(N), target[:N]].mean())
        guess = law.argmax(axis=1)
        same = np.append(False, guess[1:] == guess[:-1])
        tokens, repeated = np.where(same, tokens, guess), repeated + same[:N].sum()
    assert repeated  # so that putting back matters
    length = -law_of(lengths[None])[0, N - 1]
    np.testing.assert_allclose(loss, np.mean(stages) + length, rtol=1e-5)
    np.testing.assert_allclose([metrics["first_stage"], metrics["last_stage"]], stages, rtol=1e-5)


def test_the_loss_of_next_tokens_has_the_end_and_no_padding(drawn):
    pair = Pairs(*(part[:1] for part in drawn))
    source, L, target, N = (part[0] for part in drawn)
    config = TranslatorConfig(WORLD.vocab, source_vocab=6, encoder_layers=1, decoder_layers=1, width=8,
                              heads=2, mlp_width=8, max_length=T + 1, lengths=0, causal=True)  # fmt: skip
    model = Translator(config, key=jax.random.key(1))
    loss, metrics = loss_of(TranslationObjective(pair, batch=1), model, jax.random.key(7))
    inputs = np.array([WORLD.vocab, *target[:N]])
    law = law_of(passed(model, source, np.arange(4) < L, inputs, np.ones(N + 1, bool))[0])
    expected = -law[np.arange(N + 1), [*target[:N], WORLD.vocab]].mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    assert metrics["tokens"] == N + 1


def test_noise_keeps_the_share_that_it_says():
    tokens = jnp.full(20_000, 3)
    found = np.asarray(corrupt(jax.random.key(0), tokens, 0.15, 10))
    assert abs((found == 3).mean() - (0.15 + 0.085)) < 0.01
    counts = np.bincount(found, minlength=10)[[0, 1, 2, 4, 5, 6, 7, 8, 9]]
    assert counts.min() > 0.9 * 1700 and counts.max() < 1.1 * 1700
    with pytest.raises(ValueError, match="must be a probability"):
        RefinementObjective(WORLD, keep=1.5)


# -- checks -----------------------------------------------------------------------------------


def test_numbers_of_seeds_are_columns():
    rows = [{"a": 1, "b": {"c": [2, 3]}}, {"a": 4, "b": {"c": [5, 6]}}]
    assert measures.by_seed(rows) == {"a": [1, 4], "b": {"c": [[2, 3], [5, 6]]}}


def seed(valid, repeats=50.0, pairs=100, closer=0.5, right=0.9):
    """One seed of a refinement arm: valid shares after 1, 2, 4, 10 passes."""
    passes = {
        str(n): {
            "valid": v, "stutter": repeats, "log_prob": -5.0, "executed": 3.0, "length": 8.0,
            "until_fixed": 2.0, "given_length_accuracy": right, "stutter_share": repeats / 900,
            "given_length_stutter": 0.004 * repeats, "given_length_valid": v,
        }
        for n, v in zip((1, 2, 4, 10), valid, strict=True)
    }  # fmt: skip
    cross = {name: [0.2 * closer, 0.1, pairs] for name in figures.DISTANCES}
    other = {name: [0.2, 0.1, 1000] for name in figures.DISTANCES}
    tops = {name: [0.5, 0.1, pairs] for name in ("top-1", "top-2")}
    own = {name: [0.1, 0.05, pairs] for name in stutter.SELF}
    attention = {
        "cross": {"stutter": cross | tops, "other": other | tops},
        "self": {"stutter": own | tops, "other": own | tops},
    }
    laws = {"law_tv": 0.05, "posterior_tv": 0.1, "marginal_accuracy": right}
    laws |= {"one_pass_accuracy": right - 0.01, "entropy": 1.0, "entropy_given_length": 4.0}
    hypotheses = {"attention": attention, "attention_given_length": attention}
    hypotheses["alignment"] = {"stutter": cross, "other": other}
    rejecters = {"none": passes["4"], "linear": passes["4"]}
    return {"passes": passes, "joint": passes, "rejecters": rejecters, **hypotheses, **laws}


def causal(valid, repeats=1.0):
    found = {"valid": valid, "stutter": repeats, "stutter_share": repeats / 900}
    found |= {"log_prob": -5.0, "executed": 11.0}
    return {"beam": found, "greedy": found | {"one_a_token": True}}


SHOWN = {
    "shown_source": np.array([[3, 1, 2]]), "shown_lengths": np.array([4]),
    "shown_inputs": np.zeros((1, 10, 6), int), "shown_outputs": np.zeros((1, 10, 6), int),
    "shown_target": np.array([[6, 2, 3, 4, -1, -1]]),
}  # fmt: skip


def results(refined, searched=0.95, shifts=(-0.01, 0, 0.01), **fields):
    """Three seeds of every arm, a little apart from one another."""
    found = {}
    for data in DATA:
        rows = [seed(np.array(refined[data]) + d, **fields) for d in shifts]
        config = Refining(0, data=data, rejecters=("none", "linear"))
        numbers = {"parameters": 10, "seeds": measures.by_seed(rows)}
        found[data] = TrialResult(numbers, SHOWN, config)
        rows = [causal(searched + d / 2) for d in shifts]
        numbers = {"parameters": 10, "seeds": measures.by_seed(rows)}
        found[CAUSAL[data]] = TrialResult(numbers, {}, Refining(0, data=data, causal=True))
    for data in OPEN:
        found[EXACT[data]] = found[MARGINALS[data]] = found[data]
    return found


GOOD = {
    "distilled": (0.9, 0.92, 0.94, 0.95),
    "peaked": (0.9, 0.93, 0.94, 0.94),
    "undistilled": (0.3, 0.4, 0.5, 0.5),
}


def test_checks_come_out_as_the_numbers_say():
    good = results(GOOD)
    low = results(dict.fromkeys(DATA, (0.2, 0.2, 0.2, 0.2)), searched=0.9)
    falls = results(dict.fromkeys(DATA, (0.9, 0.7, 0.5, 0.5)))
    assert claims.near(good).verdict == "holds" and claims.near(low).verdict == "fails"
    nothing = results(dict.fromkeys(DATA, (0.0, 0.0, 0.0, 0.0)), searched=0.0)
    assert claims.near(nothing).verdict == "undecided"
    assert claims.distillation(good).verdict == "holds"
    assert claims.distillation(low).verdict == "fails"
    assert claims.more_passes(good).verdict == "holds"
    assert claims.more_passes(falls).verdict == "fails"
    assert claims.more_passes(low).verdict == "undecided"
    assert stutter.stutter(good).verdict == "holds"
    assert stutter.stutter(results(GOOD, repeats=0.5)).verdict == "fails"
    assert stutter.table_4_4(good).verdict == "holds"
    table_4_5 = CLAIMS["parallel/table-4.5"].check
    assert table_4_5(good).verdict == "holds"
    assert table_4_5(results(GOOD, closer=0.9)).verdict == "fails"
    assert table_4_5(results(GOOD, pairs=29)).verdict == "undecided"
    assert stutter.stutter_is_bayes(good).verdict == "holds"
    assert stutter.one_pass(good).verdict == "holds"
    assert choices.rejecters(good).verdict == "holds"
    assert choices.noisier(good | {KEPT: low["distilled"]}).verdict == "holds"
    assert choices.noisier(low | {KEPT: good["distilled"]}).verdict == "fails"


def test_arms_may_have_different_numbers_of_seeds():
    """Two seeds more, far off, in arms whose partner does not have them: no verdict changes."""
    few = results(GOOD)
    more = results(GOOD, shifts=(-0.01, 0, 0.01, -0.3, -0.3))
    for check in (claims.near, claims.distillation, stutter.stutter, stutter.stutter_is_bayes):
        wanted = check(few)
        for data in DATA:
            assert check(few | {CAUSAL[data]: more[CAUSAL[data]]}).verdict == wanted.verdict
    gaps = claims.near(few | {"distilled": more["distilled"]}).numbers
    assert gaps["points lost, distilled"] == claims.near(few).numbers["points lost, distilled"]
    assert choices.noisier(more | {KEPT: few["undistilled"]}).verdict == "holds"


CLAIMS = {claim.id: claim for claim in STUDY.claims}


LONG = (
    *("near-token-by-token", "distillation-helps", "more-passes", "stutter", "one-pass-is-bayes"),
    *("table-4.4", "table-4.5", "table-4.5-given-length"),
)


@pytest.mark.parametrize(
    "name",
    [
        *("other-rejecters", "stutter-is-bayes"),
        *(pytest.param(name, marks=pytest.mark.long) for name in LONG),
    ],
)
def test_no_missing_number_holds(name):
    """What the smallest profile leaves undecided is corrupted here, where it holds."""
    found = audit_claim(STUDY, CLAIMS[f"parallel/{name}"], results(GOOD))
    assert found.verdict == "holds" and not found.findings


def test_what_has_not_learned_decides_nothing():
    unlearned = results(dict.fromkeys(DATA, (0.2, 0.2, 0.2, 0.2)), searched=0.9, right=0.1)
    for check in (claims.near, claims.distillation, stutter.stutter):
        assert check(unlearned).verdict == "undecided" and "10%" in check(unlearned).remark


def heights(ax):
    return [round(float(bar.get_height()), 6) for bar in ax.patches]


def test_pictures_show_the_numbers():
    good = results(GOOD)
    top = figures.quality_figure(good).axes[0]  # distilled: a curve over passes
    np.testing.assert_allclose(top.containers[0].lines[0].get_ydata(), [90, 92, 94, 95])
    left, right = figures.stutter_figure(good).axes
    assert heights(left)[:3] == [50.0] * 3 and heights(left)[-3:] == [1.0] * 3
    assert heights(right)[:3] == [20.0] * 3
    apart = figures.attention_figure("attention_given_length")(good).axes[0]
    assert heights(apart) == [0.1] * 6 + [0.2] * 6 and "300 repeats" in apart.get_title()
    words = [text.get_text() for text in figures.tokens_figure(good).axes[0].texts]
    assert words[-4:] == [
        "1a",
        "2a",
        "2b",
        "3a",
    ]  # the target: words 3, 1, 2, the second with two tokens


# -- a rejecter that is learned ---------------------------------------------------------------------


def test_a_logistic_law_is_found():
    """Referee: the weights that the labels were drawn with, and the gradient at what was found."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40_000), rng.normal(size=(40_000, 2))])
    truth = np.array([0.5, -1.0, 2.0])
    y = rng.random(len(X)) < 1 / (1 + np.exp(-X @ truth))
    found = rejecters.logistic(X, y)
    np.testing.assert_allclose(found, truth, atol=0.06)
    gradient = X.T @ (y - 1 / (1 + np.exp(-X @ found))) - found
    assert np.abs(gradient).max() < 1e-6


def test_the_learned_rejecter_rejects_what_is_likely_wrong():
    """By hand: log-probability -1 and a repeat count against a token, standing there before for it."""
    tokens, before = jnp.array([4, 4, 7, 2]), jnp.array([4, 1, 7, 3])
    log_probs = jnp.array([-0.1, -0.1, -2.0, -2.0])
    seen = Pass(tokens, before, log_probs, jnp.ones(4, bool), jnp.int32(1), 4, jax.random.key(0))
    rule = rejecters.Learned(jnp.array([1.0, 1.0, -2.0, 1.5]))
    assert rule(seen).tolist() == [False, True, False, True]
