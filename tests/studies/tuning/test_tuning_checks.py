"""What claims about experiments say of made-up results: that good ones hold, that their corruption is
seen, and that each can come out otherwise."""

import numpy as np
import pytest

from minicosm.lab import TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.studies.tuning import STUDY
from minicosm.studies.tuning.extension_trials import HarderMemory
from minicosm.studies.tuning.trials import OracleHeads, OracleMemory, TrainedTuning

CLAIMS = {claim.id.removeprefix("tuning/"): claim for claim in STUDY.claims}
WORLDS = 5

EXACT = (
    "exact-prompt-beats-head", "exact-prompt-beats-head-everywhere", "gain-grows", "exact-reference",
    "constructed-head", "five-tokens", "majority", "exact-attention", "exact-memory-beats-vanilla",
    "attention-is-not-needed", "attention-beats-pooling", "counts-are-not-enough",
)  # fmt: skip
TRAINED = (
    "trained-prompt-beats-head", "trained-gain-of-five", "trained-prompt-beats-best-head",
    "trained-prompt-length", "trained-head-declines", "trained-close-to-exact",
    "trained-head-beats-majority", "trained-better-models-better-heads",
    "trained-prompt-shifts-the-prior", "trained-prompt-keeps-what-matters", "trained-attention",
    "trained-memory-beats-vanilla",
)  # fmt: skip
MEMORY = {
    "majority": 0.67, "mean": 0.99, "attention": 0.99, "attention_slow": 0.98, "attention_fast": 0.99,
    "token_attention": 0.99, "mean_output": 0.985, "first_output": 0.95, "histogram": 0.98,
    "certainty": 0.99, "best": 0.96, "first_tokens": 0.97, "posterior": 0.99,
}  # fmt: skip


def accuracies(hidden):
    """What would come out if all went as the source says."""
    head = 0.9 if hidden == 4 else 0.88 if hidden <= 10 else 0.8
    prompt = head + (0.08 if hidden <= 10 else 0.15)
    return {
        "majority": 0.66, "constructed": 0.9, "logistic_whitened": 0.995, "best": head + 0.02,
        "head": head, "prompt": prompt, "prompt_1": prompt, "prompt_20": prompt, "hot_refit": 0.98,
        "first_tokens": 0.985, "histogram": 0.75, "posterior": 0.99,
    }  # fmt: skip


def result(config, **changed):
    rng = np.random.default_rng([config.seed, getattr(config, "member", 0)])

    def near(value, count=WORLDS):
        return (value + 1e-3 * rng.normal(size=count)).tolist()

    if isinstance(config, HarderMemory):
        groups = list(config.temperatures) if config.family == "random" else ["gated"]
        columns = {name: [near(value) for _ in groups] for name, value in MEMORY.items()}
        lower = {name: [near(0.9) for _ in groups] for name in ("mean_output", "histogram")}
        return TrialResult({"groups": groups, **columns, **lower, **changed}, config=config)
    memory = bool(getattr(config, "memory", 0))
    levels = MEMORY if memory else accuracies(config.hidden)
    if not isinstance(config, TrainedTuning):
        assert isinstance(config, OracleHeads | OracleMemory)
        numbers = {name: near(value) for name, value in levels.items()}
        numbers |= {"clear_examples": [10] * WORLDS, "clear_errors": [0] * WORLDS}
        return TrialResult({**numbers, **changed}, config=config)
    tasks = config.tasks
    numbers = {name: near(value, tasks) for name, value in levels.items()}
    for kind in ("trained", "exact"):
        numbers |= {f"{kind}_{name}": near(value, tasks) for name, value in levels.items()}
    numbers |= {"mask_tv": 0.02 + 0.001 * rng.random(), "held_out": 0.01}
    effect = {"prompt_change": 0.4, "prompt_misfit": 0.1, "bare_misfit": 0.05}
    relevant = {"relevant_before": 0.2, "relevant_after": 0.3, "relevant_exact": 0.3}
    numbers |= {name: near(value, tasks) for name, value in (effect | relevant).items()}
    falling = np.geomspace(1, 0.01, 6)
    arrays = {
        "checkpoint_step": np.arange(6),
        "checkpoint_excess": falling,
        "checkpoint_tv": falling,
        "checkpoint_best": 0.9 - 0.2 * np.tile(falling[:, None], (1, tasks)),
    }
    for name in set(changed) & set(arrays):
        arrays[name] = changed.pop(name)
    return TrialResult({**numbers, **changed}, arrays, config=config)


def made_for(name, only=lambda config: True, **changed):
    """Results of a claim's laptop trials; numbers of those that `only` chooses are changed."""
    few = {"pretrainings": 2, "more": 3} if name in TRAINED else {}
    trials = CLAIMS[name].trials("laptop", 0, **few)
    return {
        arm: result(trial.config, **(changed if only(trial.config) else {}))
        for arm, trial in trials.items()
    }


def verdict(name, only=lambda config: True, **changed):
    return CLAIMS[name].check(made_for(name, only, **changed)).verdict


@pytest.mark.parametrize("name", (*EXACT, *TRAINED))
def test_good_results_hold(name):
    assert CLAIMS[name].check(made_for(name)).verdict == "holds"


@pytest.mark.long
@pytest.mark.parametrize("name", (*EXACT, *TRAINED))
def test_corruption_of_good_results_is_seen(name):
    made = made_for(name)
    assert audit_claim(STUDY, CLAIMS[name], made).findings == ()


def test_claims_about_exact_models_come_out_both_ways():
    def of(hidden):
        return lambda config: config.hidden == hidden

    rough = [0.7, 0.95, 0.85, 0.99, 0.8]
    assert verdict("exact-prompt-beats-head-everywhere", of(4), prompt_20=[0.85] * 5) == "fails"
    assert verdict("exact-prompt-beats-head-everywhere", of(4), prompt_20=rough) == "undecided"
    assert verdict("majority", of(25), majority=[0.75, 0.752, 0.75, 0.749, 0.75]) == "fails"
    assert verdict("majority", of(25), majority=[0.5, 0.9, 0.6, 0.8, 0.5]) == "undecided"
    assert verdict("majority", of(8), majority=[0.9] * 5) == "holds"

    def values(memory):
        return lambda config: getattr(config, "memory", 0) == memory

    assert verdict("exact-attention", values(7), attention_fast=[0.96] * 5) == "holds"
    assert verdict("exact-attention", values(5), attention_fast=[0.96] * 5) == "fails"
    assert verdict("exact-memory-beats-vanilla", of(12), head=[0.92] * 5) == "fails"
    assert verdict("exact-memory-beats-vanilla", of(8), head=[0.99] * 5) == "holds"
    assert verdict("exact-memory-beats-vanilla", of(12), head=rough) == "undecided"


def test_claims_about_pretrained_models_come_out_both_ways():
    def of(hidden):
        return lambda config: config.hidden == hidden and not config.memory

    assert verdict("trained-gain-of-five", of(8), trained_prompt=[0.92] * 2) == "fails"
    room = {"trained_prompt": [0.92] * 2, "exact_head": [0.95] * 2}
    assert verdict("trained-gain-of-five", of(8), **room) == "holds"
    assert verdict("trained-gain-of-five", exact_head=[0.95] * 2) == "undecided"
    assert verdict("trained-prompt-beats-head", of(8), trained_prompt=[0.5] * 2) == "fails"
    assert verdict("trained-prompt-length", trained_prompt_1=[0.8]) == "fails"
    assert verdict("trained-close-to-exact", of(25), mask_tv=0.3) == "fails"
    rising = np.geomspace(0.01, 1, 6)
    name = "trained-better-models-better-heads"
    assert verdict(name, checkpoint_tv=rising) == "fails"
    assert verdict(name, checkpoint_excess=rising) == "fails"
    assert verdict("trained-attention", lambda c: c.memory == 3, trained_attention=[0.9]) == "fails"
    assert verdict("trained-memory-beats-vanilla", of(12), trained_head=[0.95] * 2) == "fails"
