"""Every callable of `minicosm.decoding`, and every generator, meets hostile arguments with one sentence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hostile import (
    VALUES,
    Call,
    array,
    count,
    faults,
    flag,
    key,
    later,
    number,
    probability,
    report,
    thing,
    whole,
)
from minicosm import decoding
from minicosm.decoding import refinement
from minicosm.models import (
    LSTM,
    CachedTransformer,
    LSTMConfig,
    LSTMGenerator,
    Placement,
    Transformer,
    TransformerConfig,
    Translator,
    TranslatorConfig,
    exact_translator,
)
from minicosm.worlds import HMM, CompleteDyck, Dyck, Fertility, MemoryHMM, biased_coin

pytestmark = pytest.mark.usefixtures("unchecked_types")

KEY = jax.random.key(0)
BIG = ("2**40", "2**70")
PAIR = ("tokens far outside", "tokens below zero")
A, START = np.array([[0.7, 0.4], [0.3, 0.6]]), np.array([0.4, 0.6])
W = np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]])
HIDDEN = HMM(A, W, START)
REMEMBERING = MemoryHMM(A, np.stack([W, W[::-1]], axis=1)[:, :, None], START, START)
BRACKETS = Dyck(2, 3, 0.6)
COMPLETE = CompleteDyck(BRACKETS, [2, 4])
COIN = biased_coin(3)
TABLE = COIN.value_verifier()
READER = TransformerConfig(3, layers=1, heads=1, width=2, max_length=6, causal=True, extra_inputs=1)
CAUSAL = jax.jit(lambda key: Transformer(READER, key=key))(KEY)
CACHED = CachedTransformer(CAUSAL, 3, (1,))
LSTM_CONFIG = LSTMConfig(3, hidden=2, extra_inputs=1)
RECURRENT = LSTMGenerator(jax.jit(lambda key: LSTM(LSTM_CONFIG, key=key))(KEY), 3)
FEW = decoding.Draw(top_k=2)
TRUNCATED = decoding.Truncated(HIDDEN, FEW)
LAW = np.log([0.5, 0.3, 0.2])
LAWS = ("entry -1", "plus .5", "entry 10**6", "one entry less", *PAIR)


def draws(**more):
    return {
        "temperature": thing(1.0, allows=("0", "2.5", *BIG)),
        "top_k": count(2, allows="None"),
        "top_p": thing(0.9, allows="0"),
    } | more


def likes(tokens):
    return float(len(tokens) % 2)


def traced(tokens, n):
    return jnp.where(n % 2, 1.0, 0.5)


SHARE = thing(0.5, allows="0")
SAMPLERS = [
    Call(decoding.Draw, **draws()),
    Call(decoding.Ancestral, **draws()),
    Call(
        decoding.Backtracking,
        **draws(),
        quota=count(4),
        stride=count(2),
        threshold=SHARE,
        refill=thing("argmax"),
        check_during_refill=flag(False),
        check_prompt=flag(False),
        erasable_prompt=count(1, allows=("0", "None")),
        once_per_prefix=flag(False),
        force_first=flag(False),
        record=count(2, allows="0"),
    ),
    Call(decoding.BestOfN, **draws(), count=count(2)),
    Call(
        decoding.BlockBestOfN,
        **draws(),
        count=count(2),
        separator=array([1, 2], allows=("None", "0", "one entry less", "entry 10**6", PAIR[0])),
        size=count(2, allows="None"),
        blocks=count(2, allows="None"),
    ),
    Call(decoding.Rejection, **draws(), threshold=SHARE),
    Call(decoding.TokenwiseRejection, **draws(), threshold=SHARE, redraws=count(10)),
    Call(
        decoding.ActionLevelRejection,
        **draws(),
        envelope=thing(1.0, allows=("0", "2.5", *BIG)),
        relative=flag(True),
        redraws=count(10),
    ),
    Call(decoding.VerifierEnumeration, threshold=SHARE),
    Call(decoding.ValueGuided, **draws()),
    Call(
        decoding.VGB,
        **draws(),
        output=thing("first_leaf"),
        steps=count(10, allows="None"),
        rerun=flag(True),
        lazy=flag(True),
        proposals=thing("none"),
        envelope=thing(1.0, allows=("0", "2.5", *BIG)),
        redraws=count(10),
        record=count(3, allows="0"),
    ),
]

PROMPTS = np.array([[0, 1], [1, 1]])
WALK = decoding.VGB(steps=20, record=2000)
TRACE = later(lambda: decoding.generate(COIN, WALK, key=KEY, length=3, count=2, verifier=TABLE))


def of_trace(name):
    return Call.of(
        getattr(decoding.Trace, name),
        lambda row: getattr(TRACE.make(), name)(row=row),
        row=count(1, allows="0"),
    )


RUNNING = [
    Call(
        decoding.generate,
        model=thing(HIDDEN),
        sampler=thing(decoding.Ancestral(), allows="None"),
        key=key(),
        length=count(4),
        prompts=array(PROMPTS, allows=("None", "[[]]", "one entry less"), names="prompt"),
        verifier=thing(likes, allows=("None", "a function")),
        end=count(2, allows=("None", "0")),
        max_calls=count(100, allows=("None", "0")),
        progress=flag(False),
    ),
    Call(decoding.generate, model=thing(HIDDEN), key=key(), length=count(4), count=count(2, allows="None")),
    Call(
        decoding.sample,
        sampler=thing(decoding.Ancestral()),
        generator=thing(HIDDEN),
        verifier=thing(decoding.CallableVerifier(traced), allows="None"),
        prompts=array(PROMPTS, names="prompt", allows=("[[]]",)),
        key=key(),
        length=thing(np.array([4, 4])),
        prompt_lengths=array([2, 1], names="prompt length", allows="None"),
        end=count(2, allows=("None", "0")),
        max_calls=count(100, allows="0"),
        max_verifier_calls=count(100, allows=("None", "0")),
        seconds=thing(60.0, allows=("None", "0", "2.5", "True", *BIG)),
        chunk=count(4, allows=BIG),
        segment=count(4),
        progress=thing(lambda done, rows: None, allows="None"),
    ),
    Call(decoding.truncate, log_law=array(LAW, allows=LAWS), draw=thing(FEW)),
    Call(decoding.distinct_prefixes, trace=thing(TRACE), length=count(3, allows=BIG),
         end=count(1, allows=("None", "0", *BIG))),
    *map(of_trace, ("string", "completion", "explain")),
]  # fmt: skip


@jax.jit
def _translators(key):
    shape = {"encoder_layers": 1, "decoder_layers": 1, "heads": 1, "width": 2, "mlp_width": 2}
    shape |= {"max_length": 8, "lengths": 4}
    return (
        Translator(TranslatorConfig(4, **shape), key=key),
        Translator(TranslatorConfig(4, causal=True, **shape), key=key),
    )


PARALLEL, WRITER = _translators(KEY)
SOURCES = {
    "source": array([[0, 1, 2], [1, 2, 3]], names="visible"),
    "visible": array(np.ones((2, 3), bool)),
}
REFINED = later(
    lambda: decoding.refine(
        PARALLEL, np.array([[0, 1]]), np.ones((1, 2), bool), KEY, steps=2, candidates=2
    )
)
TRANSLATING = [
    Call(decoding.beam, model=thing(WRITER), **SOURCES, width=count(2), longest=count(3, names="positions")),
    Call(
        decoding.refine, model=thing(PARALLEL), **SOURCES, key=key(), steps=count(2), candidates=count(2),
        longest=count(3, allows="None", names=("positions", "lengths")),
        rejecter=thing(refinement.stutter), alpha=number(0.5, allows=("True",)), joint=flag(True),
    ),
    Call(
        decoding.refine, model=thing(PARALLEL), **SOURCES, key=key(), steps=count(2),
        lengths=array([[1, 2], [2, 3]], allows=("None",), names="start"),
        longest=count(3, names=("positions", "start")),
        start=array(np.ones((2, 2, 3), int), allows="None"),
    ),
    Call.of(
        refinement.Refinement.after, lambda steps: REFINED.make().after(steps=steps), steps=count(1)
    ),
    Call.of(
        refinement.Refinement.scored, lambda **how: REFINED.make().scored(**how),
        alpha=number(0.5), joint=flag(True),
    ),
    Call(refinement.constant, share=probability(0.5, allows=())),
]  # fmt: skip

HIDDENS = np.array([0.3, -0.2])
MATRICES, BIASES = (np.ones((2, 1)),), (np.zeros(1),)
PROBE = decoding.ProbeVerifier(MATRICES, BIASES)
STATE = later(lambda: CACHED.begin(3))
RANDOM = decoding.RandomVerifier(KEY)
ASKED = decoding.FunctionVerifier(likes)
CALLED = decoding.CallableVerifier(traced)
CLOSED = decoding.DyckVerifier(2, 4, end=4, start=5, max_depth=3)
ABOVE = decoding.Thresholded(TABLE, 0.5)
ANY = tuple(VALUES)


def generator(model, tokens=1):
    """The calls of a generator's methods, after it has read a token."""
    memory = later(lambda: model.read(model.begin(2), jnp.int32(0), jnp.int32(tokens)))
    return [
        Call(model.begin, room=whole(3, names="memory", allows=())),
        Call(model.read, memory=thing(memory), n=count(1, allows="0"), token=count(tokens, allows="0")),
        Call(model.law, memory=thing(memory), n=count(1, allows="0")),
    ]  # fmt: skip


def verifier(judge, source=None, held=()):
    """The same of a verifier; most look at no source."""

    def read():
        shown = source.make() if source is not None else None
        return judge.read(judge.begin(2, shown), jnp.int32(0), jnp.int32(0), shown)

    memory = later(read)
    unseen = thing(source, allows=ANY if source is None else (), names="source")
    place = {"memory": thing(memory, allows=held), "n": count(1, allows="0")}
    told = (
        [Call(judge.score_when, **place, asked=flag(True))] if hasattr(judge, "score_when") else []
    )
    return [
        Call(judge.begin, room=whole(3 if source is None else 2, names="memory"), source=unseen),
        Call(judge.read, memory=thing(memory, allows=held), n=count(1, allows="0"),
             token=whole(0, allows=()), source=unseen),
        Call(judge.score, **place),
        *told,
    ]  # fmt: skip


PROMPT = array([0, 1], allows=("one entry less", "[]"))
PARTS = [
    Call(decoding.Truncated, generator=thing(HIDDEN), draw=thing(FEW)),
    Call(TRUNCATED.begin_after, room=count(3, names="memory"), tokens=PROMPT),
    Call(CachedTransformer, model=thing(CAUSAL), start=count(3, allows="0"), keep=thing((1,)),
         placement=thing(Placement(np.zeros(1)), allows="None")),
    Call(CACHED.begin, room=count(3, allows="0", names="memory"), start=count(3, allows=("0", "None"))),
    Call(RECURRENT.begin, room=count(3, allows="0", names="memory"), start=count(3, allows=("0", "None"))),
    Call(CACHED.begin_after, room=count(3, names="memory"), tokens=PROMPT),
    Call(decoding.ProbeVerifier, weights=thing(MATRICES), biases=thing(BIASES),
         place=count(1, allows=("None", "0", *BIG))),
    Call(PROBE.probability, hidden=array(HIDDENS, allows=("entry -1", "entry 10**6", "plus .5", *PAIR))),
    Call(decoding.DyckVerifier, types=count(2), brackets=count(4, allows=("0", *BIG)),
         end=count(4, allows=("None", *BIG)), start=count(5, allows=("None", *BIG)),
         max_depth=count(3, allows=("None", *BIG))),
    Call(decoding.CallableVerifier, function=thing(traced)),
    Call(decoding.FunctionVerifier, function=thing(likes, allows="a function")),
    Call(decoding.RandomVerifier, key=key()),
    Call(decoding.Thresholded, verifier=thing(TABLE), threshold=number(0.5)),
]  # fmt: skip
for model in (
    HIDDEN,
    REMEMBERING,
    BRACKETS,
    COMPLETE,
    COMPLETE.with_end(),
    COIN,
    CACHED,
    RECURRENT,
    TRUNCATED,
):
    PARTS += generator(model, 0 if model is not HIDDEN else 1)
for judge in (TABLE, RANDOM, CLOSED, ABOVE):
    PARTS += verifier(judge)
for judge in (ASKED, CALLED):
    PARTS += verifier(judge, held="tokens far outside")
PARTS += verifier(PROBE, STATE)

EXACT = exact_translator.ExactRefiner(
    Fertility([0.5, 0.5], source_vocab=3, shortest=1, longest=3), 0.1
)
TRANSLATING += [
    Call(decoding.refine, model=thing(EXACT), **SOURCES, key=key(), steps=count(1), candidates=count(1),
         longest=count(3)),
]  # fmt: skip
TRANSLATING[-1].arguments["source"] = array([[0, 1, 2], [1, 2, 0]], names="visible")
CALLS = SAMPLERS + RUNNING + TRANSLATING + PARTS


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
