"""Every public function of `models` and `training` with one bad argument at a time: a sentence, or a
defined answer where the value means something after all."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import hostile
from hostile import (
    Call,
    array,
    count,
    flag,
    key,
    later,
    number,
    positive,
    probability,
    thing,
    tokens,
)
from minicosm import models, training
from minicosm.models import (
    Transformer,
    TransformerConfig,
    Translator,
    TranslatorConfig,
    by_token,
    exact_translator,
    hugging_face,
    positions,
    repeats,
    variants,
    weights,
)
from minicosm.training import averaging, pseudolikelihood, refinement, schedules
from minicosm.worlds import HMM, Fertility, GaussianMean, Ising, MaskLaw

pytestmark = pytest.mark.usefixtures("unchecked_types")

KEY = jax.random.key(0)
BIG = ("2**40", "2**70")
NONE = "None"
LOG_RATIOS = (
    "one entry less",
    "entry -1",
    "entry 10**6",
    "plus .5",
    "tokens far outside",
    "tokens below zero",
)
PADDING = ("entry -1", "entry 10**6", "tokens far outside", "tokens below zero")


@jax.jit
def _models(key):
    shape = {"layers": 1, "heads": 2, "width": 4, "max_length": 6}
    return (
        Transformer(TransformerConfig.bert(5, **shape), key=key),
        Transformer(TransformerConfig(5, causal=True, **shape), key=key),
    )


@jax.jit
def _translators(key):
    shape = {"encoder_layers": 1, "decoder_layers": 1, "heads": 2, "width": 4, "mlp_width": 4}
    shape |= {"max_length": 8, "lengths": 6}
    return (
        Translator(TranslatorConfig(5, **shape), key=key),
        Translator(TranslatorConfig(5, causal=True, **shape), key=key),
    )


BERT, CAUSAL = _models(KEY)
PARALLEL, WRITER = _translators(KEY)
ROWS = np.array([[0.1, -0.2, 0.3, 0.4], [0.5, 0.1, -0.3, 0.2], [0.2, 0.4, 0.1, -0.5]])
SEEN = np.array([True, True, False])
PLACED = thing(models.Placement(np.ones(2)), allows=NONE)
MEMORY = later(lambda: jax.jit(lambda model: model.encode(np.array([0, 1, 2])))(PARALLEL))
BY_TOKEN = later(lambda: WRITER.by_token(2, 3))
PAST = later(lambda: BY_TOKEN.make().begin(MEMORY.make()))
SMALL = {"layers": 1, "heads": 1, "width": 2, "max_length": 3}
CONFIG = TransformerConfig(3, **SMALL)
ARRAYS = weights.to_arrays(weights.from_arrays(CONFIG, {}, fill=0))


def row(*names: str) -> dict[str, Any]:
    """Arguments that many optimisers share."""
    known = {
        "peak": positive(0.1, allows="0"),
        "steps": count(5, allows=BIG),
        "warmup": count(2, allows=("0", *BIG)),
    }
    return {name: known[name] for name in names}


def fields(config: type, **changed: Any) -> dict[str, Any]:
    """An argument for every field of a config, of the kind that its default has."""
    made = {}
    for field in dataclasses.fields(config):
        if field.name in changed:
            made[field.name] = changed[field.name]
        elif isinstance(field.default, bool):
            made[field.name] = flag(field.default)
        elif isinstance(field.default, int):
            made[field.name] = count(field.default, allows=BIG)
        elif isinstance(field.default, float):
            made[field.name] = number(field.default)
        else:
            made[field.name] = thing(field.default)
    return made


TRANSFORMER_FIELDS = fields(
    TransformerConfig,
    vocab=count(5, allows=BIG),
    mlp_width=count(8, allows=("0", NONE, *BIG)),
    head_width=count(2, allows=(NONE, *BIG)),
    attention_scale=number(0.5, allows=NONE),
    rotary_base=positive(100.0),
    extra_inputs=count(1, allows=("0", *BIG)),
    embedding_norm=flag(True, allows=NONE),
    final_norm=flag(True, allows=NONE),
    mlp_norm=thing("pre", allows=NONE),
    compute=thing("float32", allows=NONE),
    dropout=probability(0.1),
    epsilon=positive(0.1, allows="0"),
    init_std=positive(0.1, allows="0"),
    embedding_std=positive(0.1, allows=("0", NONE)),
    position_std=positive(0.1, allows=("0", NONE)),
    embedding_dropout=probability(0.1, allows=NONE),
)
TRANSLATOR_FIELDS = fields(
    TranslatorConfig,
    vocab=count(5, allows=BIG),
    source_vocab=count(4, allows=(NONE, *BIG)),
    lengths=count(6),
    dropout=probability(0.1),
    init_std=positive(0.1, allows="0"),
)
MODEL_CALLS = [
    Call(TransformerConfig, **TRANSFORMER_FIELDS),
    Call(TransformerConfig.bert, vocab=count(5, allows=BIG), layers=count(1, allows=BIG)),
    Call(TransformerConfig.gpt2, vocab=count(5, allows=BIG), causal=flag(True)),
    Call(TransformerConfig.from_dict, values=thing({"vocab": 3})),
    Call(TranslatorConfig, **TRANSLATOR_FIELDS),
    Call(TranslatorConfig.paper, vocab=count(5, allows=BIG), tied=flag(True)),
    Call(TranslatorConfig(5).part, layers=count(1, allows=BIG)),
    Call(variants.theory, vocab=count(3), width=count(2, allows=BIG), inputs=count(4, allows=(NONE, *BIG)),
         layers=count(1, allows=BIG), mlp_width=count(2, allows=("0", NONE, *BIG)),
         constant=positive(0.1, allows="0")),
    Call(variants.residual_inside, vocab=count(3, allows=BIG), width=count(2, allows=BIG)),
    Call(variants.bare, vocab=count(3, allows=BIG), width=count(2, allows=BIG)),
    Call(variants.gpt2, vocab=count(3, allows=BIG), width=count(2, allows=BIG), layers=count(1, allows=BIG)),
    Call(Transformer, config=thing(CONFIG), key=key(), dtype=thing("float32", allows=NONE)),
    Call(BERT.embed, tokens=tokens([0, 1, 2]), observed=array(SEEN, allows=NONE)),
    *(
        Call(method, embeddings=array(ROWS, allows=("one entry less", "entry -1", "entry 10**6", "plus .5")),
             at=array([0, 2], allows=(NONE, "one entry less")), visible=array(SEEN, allows=NONE),
             key=key(allows=NONE), placement=PLACED)
        for method in (BERT.hidden, BERT.logits, BERT.predict)
    ),
    Call(BERT.readout, hidden=array(ROWS, allows=("one entry less", "entry -1", "entry 10**6", "plus .5"))),
    Call(CAUSAL.next_logits, tokens=tokens([0, 1, 2]), key=key(allows=NONE),
         placement=PLACED),
    Call(BERT.trace, inputs=tokens([0, 1, 2], names="inputs"), observed=array(SEEN, allows=NONE),
         visible=array(SEEN, allows=NONE), key=key(allows=NONE), placement=PLACED),
    Call(Translator, config=thing(TranslatorConfig(3, heads=1, width=2)), key=key(),
         dtype=thing("float32", allows=NONE)),
    Call(PARALLEL.encode, source=tokens([0, 1, 2], names="source"), visible=array(SEEN, allows=NONE),
         key=key(allows=NONE)),
    Call(PARALLEL.decode, tokens=tokens([0, 1, 2]), memory=thing(MEMORY), visible=array(SEEN, allows=NONE),
         key=key(allows=NONE)),
    Call(PARALLEL.trace, tokens=tokens([0, 1, 2]), memory=thing(MEMORY), visible=array(SEEN, allows=NONE)),
    Call(PARALLEL.length_logits, memory=thing(MEMORY)),
    Call(PARALLEL.readout, x=array(ROWS, allows=("one entry less", "entry -1", "entry 10**6", "plus .5"))),
    Call(WRITER.by_token, targets=count(2), room=count(3, names="positions")),
    Call(PARALLEL.check_length, length=count(3, allows="0"), decoder=flag(True)),
    Call.of(by_token.TokenByToken.begin, lambda memory: BY_TOKEN.make().begin(memory), memory=thing(MEMORY)),
    Call.of(by_token.TokenByToken.step, lambda **now: BY_TOKEN.make().step(**now), past=thing(PAST),
         at=count(1, allows="0"), parents=array([0, 1]),
         tokens=tokens([0, 1])),
    Call(models.DensityRatio, key=key(), height=count(2), width=count(3), kind=thing("mlp"), hidden=count(4),
         features=count(2)),
    Call(models.DensityRatio(KEY, 2, 3, hidden=4, features=2).log_ratio,
         image=array(np.ones((2, 3)), allows=("entry -1", "entry 10**6", "plus .5"))),
    Call(weights.to_arrays, model=thing(CAUSAL)),
    Call(weights.from_arrays, config=thing(CONFIG), arrays=thing(ARRAYS, allows="{}"),
         fill=number(0.0, allows=NONE)),
    Call(weights.shapes, config=thing(CONFIG)),
    Call(weights.load, path=thing("MODEL", names="file")),
    Call(weights.save, model=thing(CAUSAL), path=thing("OTHER", allows="'abc'")),
    Call(weights.write_atomically, path=thing("OTHER", allows="'abc'"), content=thing(b"a", allows="b''")),
    Call(hugging_face.export_bert, model=thing(BERT), folder=thing("FOLDER", allows="'abc'"),
         names=thing(list("abcde"), allows=NONE)),
    Call(hugging_face.bert_config, config=thing(BERT.config)),
    Call(hugging_face.bert_arrays, model=thing(BERT)),
    Call(positions.sinusoids, length=count(3), width=count(4), base=positive(100.0)),
    Call(positions.rotate, rows=array(np.ones((3, 1, 4)), allows=("one entry less", "entry -1", "plus .5",
         "entry 10**6")), base=positive(100.0), length=count(3, allows=NONE),
         at=array([0, 1, 2], allows=NONE)),
    Call(positions.angle_table, length=count(3), width=count(4), base=positive(100.0)),
    Call(repeats.repeats, tokens=tokens([0, 0, 1], allows=("one axis more", "entry -1", "entry 10**6",
         "tokens far outside", "tokens below zero"))),
    Call(repeats.put_back, new=array([0, 1, 2], allows=("entry -1", "entry 10**6")),
         old=array([2, 1, 0], allows=("entry -1", "entry 10**6")), rejected=array(SEEN)),
]  # fmt: skip

WORLD = Fertility([0.5, 0.5], source_vocab=3, shortest=1, longest=3)
EXACT = exact_translator.ExactRefiner(WORLD, 0.1)
SOURCE = np.array([0, 1, 2])
READ = later(lambda: EXACT.encode(SOURCE, SEEN))
MODEL_CALLS += [
    Call(exact_translator.ExactRefiner, world=thing(WORLD), keep=probability(0.1)),
    Call(EXACT.encode, source=tokens([0, 1, 2], names="source"), visible=array(SEEN)),
    Call(EXACT.length_logits, memory=thing(READ)),
    Call(EXACT.decode, tokens=tokens([0, 1, 2]), memory=thing(READ),
         visible=array(SEEN)),
]  # fmt: skip

SGD = optax.sgd(0.1)


def parabola_residuals(params: Any) -> Any:
    """Residuals that vanish at 1."""
    return params - 1


def parabola(x, key, step):
    return jnp.sum(x**2), {"size": jnp.max(jnp.abs(x))}


def mesh(name):
    return jax.sharding.Mesh(np.array(jax.devices()[:1]), (name,))


def settings(axis):
    return {
        "loss": thing(parabola),
        "optimiser": thing(SGD),
        "steps": count(2, allows="0"),
        "chunk": count(2, allows=BIG),
        "accumulate": count(1),
        "progress": thing(lambda done, steps: None, allows=NONE),
        "watch": thing(lambda params, done: {}, allows=NONE),
        "trainable": flag(True, allows="a function"),
        "target": thing({"size": 0.0}, allows=(NONE, "{}")),
        "checkpoint": thing(f"RUN {axis}", allows=(NONE, "'abc'")),
        "sharding": thing(mesh(axis), allows=NONE),
        "finite": flag(True),
    }


STATES = Ising(np.full(2, 0.1), np.array([[0, 0.3], [0.3, 0]]))
JOINT, STATISTICS, MASKS = STATES.joint(), STATES.statistics(), MaskLaw.uniform(2, 1)
COUNTS = pseudolikelihood.draw_counts(np.random.default_rng(0), JOINT, MASKS, 50)[0]
DATA = {
    "counts": array(COUNTS, allows=("plus .5", "entry 10**6")),
    "statistics": array(STATISTICS, allows=("plus .5", "entry 10**6", "entry -1")),
    "masks": thing(MASKS),
    "vocab": count(2),
    "mask_is_evidence": flag(True),
}
MANY = array(COUNTS, allows=("plus .5", "entry 10**6", "one axis more"))  # more than one data set
THETA = array(np.zeros(STATISTICS.shape[1]), allows=("plus .5", "entry -1", "entry 10**6"))
PAIRS = training.Pairs(
    np.array([[0, 1], [1, 2]]), np.array([2, 1]), np.array([[0, 1], [1, 2]]), np.array([2, 1])
)
OF_PAIRS = {
    "source": array(PAIRS.source, allows="entry 10**6"),
    "source_length": array(PAIRS.source_length),
    "target": array(PAIRS.target, allows="entry 10**6"),
    "target_length": array(PAIRS.target_length),
}
REFINING = training.RefinementObjective(PAIRS, batch=1, stages=1)
WRITING = training.TranslationObjective(PAIRS, batch=1)
HIDDEN = HMM([[0.7, 0.4], [0.3, 0.6]], np.full((5, 2), 0.2), [0.4, 0.6])
OBJECTIVE = {
    "world": thing(HIDDEN),
    "length": count(4),
    "batch": count(2),
    "exact": flag(True),
    "measure": flag(True),
    "corpus": array(np.zeros((2, 4), int), allows=("None", "one entry less", "one axis more")),
}
MASKED = training.MaskedObjective(HIDDEN, length=4)
NEXT = training.CausalObjective(HIDDEN, length=4)
SUMS = {"nats": 3.0, "tokens": 2.0, "right": 1.0}
STAGED = {name: np.full(1, value) for name, value in SUMS.items()} | {"length": 1.0, "pairs": 2.0}

TRAINING_CALLS = [
    Call(training.fit, **settings("batch"), params=thing(jnp.ones(3)), key=key()),
    Call(training.logged, objective=thing(MASKED, allows="a function"),
         write=thing(print, allows="a function"), key=key()),
    Call(training.fit_ensemble, **settings("ensemble"), params=thing(jnp.ones((2, 3))),
         keys=thing(jax.random.split(KEY, 2))),
    Call(training.least_squares, residuals=thing(parabola_residuals), steps=count(2),
         starts=array(np.ones((2, 3)), allows=("entry -1", "entry 10**6", "plus .5", "one entry less"))),
    Call(training.warmup_linear, **row("peak", "steps", "warmup")),
    Call(training.warmup_cosine, **row("peak", "steps", "warmup")),
    Call(training.adam, rates=positive(0.1, allows=("0", "ragged")), **row("steps", "warmup")),
    Call(training.adamw, **row("peak", "steps", "warmup"), decay=thing("linear"),
         clip=positive(1.0, allows=NONE), weight_decay=positive(0.1, allows="0")),
    Call(training.muon, **row("peak", "steps", "warmup"), rest=positive(0.1, allows="0"),
         decay=thing("linear")),
    Call(schedules.adafactor, **row("peak", "steps", "warmup"), floor=positive(0.1, allows="0")),
    Call(averaging.averaged, optimiser=thing(SGD), power=positive(0.5, allows="0"), least=probability(0.1)),
    Call(training.ngd, rate=positive(0.1, allows="0")),
    Call(training.contrastive_loss, data=array([0.1, -0.5], allows=LOG_RATIOS),
         noise=array([0.3], allows=LOG_RATIOS), kind=thing("nce"), clip=positive(60.0, allows=NONE)),
    Call(training.SampledContrast, world=thing(GaussianMean(2.0)), kind=thing("nce"), batch=count(3),
         clip=positive(60.0, allows=NONE), clip_gradient=positive(1.0, allows=NONE)),
    Call(training.SampledContrast(GaussianMean(2.0), batch=3).samples, key=key()),
    Call(training.SampledContrast(GaussianMean(2.0), batch=3).ratios, key=key(),
         tau=array([0.1, 0.5], allows=LOG_RATIOS[1:])),
    Call(training.OneOf, losses=thing([parabola, parabola]), weights=array([0.5, 0.5])),
    Call(training.Pairs, **OF_PAIRS),
    Call(PAIRS.sample, key=key()),
    Call(training.TranslationObjective, pairs=thing(PAIRS), batch=count(1, allows=BIG)),
    Call(training.RefinementObjective, pairs=thing(PAIRS), batch=count(1, allows=BIG),
         stages=count(1, allows=BIG), keep=probability(0.1, allows="array of four axes"), remask=flag(True)),
    Call(training.MaskedObjective, **OBJECTIVE, rate=probability(0.5)._replace(allows=frozenset({"True"})),
         corruption=thing("bert")),
    Call(training.CausalObjective, **OBJECTIVE, start=count(5, allows=("0", NONE, *BIG))),
    Call(MASKED.predictions, model=thing(BERT), key=key()),
    Call(MASKED.tokens, key=key()),
    Call(NEXT.predictions, model=thing(CAUSAL), key=key()),
    Call(NEXT.tokens, key=key()),
    Call(WRITING.one, model=thing(WRITER), key=key()),
    Call(WRITING.total, sums=thing(SUMS)),
    Call(REFINING.one, model=thing(PARALLEL), key=key()),
    Call(REFINING.total, sums=thing(STAGED)),
    Call(refinement.corrupt, key=key(), tokens=tokens([0, 1, 2], allows=PADDING), keep=probability(0.5),
         vocab=count(4)),
    Call(pseudolikelihood.draw_counts, rng=thing(np.random.default_rng(0)), joint=thing(JOINT),
         masks=thing(MASKS), examples=count(5, allows="2**40"), masks_per_example=count(1, allows="2**40"),
         repeats=count(1)),
    Call(pseudolikelihood.averaged_counts, sequences=array(np.ones(4), allows=("plus .5", "entry 10**6",
         "one axis more")), masks=thing(MASKS)),
    Call(pseudolikelihood.loss, theta=THETA, **DATA),
    Call(pseudolikelihood.derivatives, theta=THETA, **DATA),
    Call(pseudolikelihood.fit, **DATA | {"counts": MANY}, steps=count(3, allows=BIG),
         tolerance=positive(1e-9, allows=BIG)),
]  # fmt: skip
CALLS = MODEL_CALLS + TRAINING_CALLS


def with_files(folder):
    """Put the paths of files into the calls that need one."""
    weights.save(CAUSAL, folder / "model.safetensors")
    places = {
        "MODEL": "model.safetensors",
        "OTHER": "other",
        "FOLDER": "folder",
        "RUN batch": "a.npz",
        "RUN ensemble": "b.npz",
    }
    for call in CALLS:
        for name, argument in call.arguments.items():
            if isinstance(argument.value, str) and argument.value in places:
                value = str(folder / places[argument.value])
                call.arguments[name] = argument._replace(value=value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    with_files(tmp_path_factory.mktemp("files"))


# What compiles for many shapes, and stands on the same checks as another.
LONG = {"Transformer.hidden", "Transformer.logits", "Transformer.trace", "Translator.trace"}
LONG |= {"Translator.encode", "ExactRefiner.decode", "TokenByToken.step", "rotate", "fit_ensemble"}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=call.name, marks=pytest.mark.long if call.name in LONG else ())
        for call in CALLS
    ],
)
def test_a_bad_argument_meets_a_sentence(call, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = hostile.faults(call)
    assert not found, hostile.report(found)


def test_every_public_function_is_in_the_table():
    """Protocols and tuples hold what others made; generators are in the table of decoding, what is recurrent
    or about labels in that of labels, bags of words in that of topic worlds."""
    elsewhere = {"CachedMemory", "CachedTransformer", "Objective", "LSTMMemory", "LSTMGenerator"}
    elsewhere |= {"LSTM", "LSTMConfig", "Placement", "recency_slopes", "LabelObjective"}
    elsewhere |= {"Labelled", "LabelledWorld", "BagAttention", "Arm", "ARMS", "BagLoss", "Bags"}
    elsewhere |= {"draw_bags", "mean_losses", "stack_arms", "stack_bags"}
    elsewhere |= {"COLD", "LABELS", "Curriculum", "Distilled", "SignVectors", "Task", "Trajectory"}
    elsewhere |= {"Transition", "equal_split", "kappa_split", "keeping", "labels_only", "one_shot"}
    elsewhere |= {"progressive", "soft_targets", "stacked", "steps_to", "transition", "two_shot"}
    elsewhere |= {"MaskedBatch", "MaskedSentences", "NextBatch", "NextTokens", "SignTokens"}
    elsewhere |= {"AttentionPenalty", "LayerPenalty", "with_layer_options"}
    made = {"CausalLM", "Generator", "MaskedLM", "Verifier", "Memory", "TransformerTrace"}
    made |= {"Fitted", "History", "Loss", "Stopped", "Diverged"}
    known = {call.function for call in CALLS if not hasattr(call.function, "__self__")}
    for package in (models, training):
        for name in set(package.__all__) - elsewhere - made:
            assert getattr(package, name) in known, name
