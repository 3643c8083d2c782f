"""Hostile calls of the theory of Dyck languages: a bad argument meets one sentence that names it."""

import jax
import numpy as np
import pytest

from hostile import (
    Call,
    array,
    attempt,
    count,
    faults,
    flag,
    key,
    positive,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.models import Transformer, TransformerConfig
from minicosm.theory import dyck
from minicosm.worlds import Dyck

pytestmark = pytest.mark.usefixtures("unchecked_types")

RNG = np.random.default_rng(0)
NUMBERS = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do
LISTS = ("tokens far outside", "tokens below zero")  # as two numbers
ANY_SIZE = (*NUMBERS, "one entry less")

WORLD = Dyck(2, 3)
INPUTS = WORLD.pairs + 1
E, ZERO = dyck.token_depth_embedding(WORLD), np.zeros((INPUTS, INPUTS))
M = dyck.project(RNG.normal(size=ZERO.shape), E, WORLD)
VALUES = RNG.normal(size=ZERO.shape)
EXACT, UNIFORM, COPY = (
    dyck.exact_dyck(WORLD, E, M),
    dyck.uniform_dyck(WORLD),
    dyck.copy_model(WORLD),
)
HEADS = Transformer(TransformerConfig(4, width=4, layers=1, heads=2), key=jax.random.key(0))
STRING = np.array([0, 2, 3, 1])
STRINGS = np.array([[0, 2, 3], [2, 0, 1]])
PAIR = dyck.twins(WORLD, [0, 1])
GIVEN = dyck.random_parameters(RNG, 2, 2)
QUERY = dyck.Strings(GIVEN, 17, 0, 2, 1)

TARGET, OTHER = (
    dyck.random_target(RNG, width=2, attention=1, mlp_width=2, layers=1) for _ in range(2)
)
LARGE = dyck.random_large(RNG, TARGET, width=16, attention=60, mlp_width=120)
SEARCH = dyck.Search(6, 1)
VECTORS = RNG.normal(size=(2, 3, 2))
PRUNED = dyck.prune_transformer(TARGET, LARGE, search=SEARCH)
CERTIFIED = dyck.theorem_2_2_3(TARGET, LARGE, search=SEARCH)
WANTED, DRAWN = dyck.matrices_of(TARGET), dyck.matrices_of(LARGE)
BLOCK = dyck.Matrices(*(w[:2] for w in DRAWN))
FOUR = dyck.Matrices(*(w[:4] for w in DRAWN))
FIRST, SECOND = RNG.normal(size=(2, 2, 2))
MLP, REPORTS = dyck.prune_mlp(
    FIRST, SECOND, BLOCK, rows=np.arange(2), columns=np.arange(2), search=SEARCH
)
LAYER = dyck.Matrices(*(np.eye(2) for _ in range(5)))
STAGE = dyck.Stage(*(RNG.normal(size=shape) for shape in ((2, 3), (3,), (3, 1), (1,))))
MAP = np.full((5, 5), 0.2)


def double(x):
    return 2 * x


WORLDS = {"world": thing(WORLD)}
ROWS = array(E, allows=NUMBERS)
SQUARE = array(M, allows=NUMBERS)
WEIGHTS = {"E": ROWS, "M": SQUARE, "W_V": array(VALUES, allows=NUMBERS)}
TWO = {"rows": array(np.arange(2)), "columns": array(np.arange(2))}
VECTOR = array(np.array([0.3, -0.2, 0.7]), allows=NUMBERS)
KIND = {"allows": "0"}

CALLS = [
    # -- embeddings and worlds
    *[
        Call(getattr(dyck, name), **WORLDS)
        for name in (
            "open_ids",
            "closed_ids",
            "query_ids",
            "tokens_and_depths",
            "stack_laws",
            "uniform_dyck",
            "theorem_2_2_1_width",
            "onehot_as_printed",
            "embeddings_2_55_to_2_57",
            "corollary_2_2_1",
        )
    ],
    Call(dyck.pair_ids, **WORLDS, tokens=tokens(STRING)),
    Call(dyck.token_depth_embedding, **WORLDS, kind=thing("random"), seed=whole(3, allows="None")),
    Call(dyck.draw, **WORLDS, key=key(), count=count(2), length=count(3)),
    # -- balance
    Call(dyck.residuals, M=SQUARE, E=ROWS, **WORLDS),
    Call(
        dyck.balance_condition,
        M=SQUARE,
        E=ROWS,
        **WORLDS,
        which=array(np.ones((2, 3), bool), allows="None"),
    ),
    Call(
        dyck.project,
        M=SQUARE,
        E=ROWS,
        **WORLDS,
        which=array(np.ones((2, 3), bool), allows="None"),
    ),
    Call(dyck.nearest_balanced, M=SQUARE, E=ROWS, **WORLDS, other=SQUARE),
    Call(dyck.balance_dimension, E=ROWS, **WORLDS),
    Call(dyck.value_residuals, **WEIGHTS, **WORLDS),
    Call(dyck.balance_violation, **WEIGHTS, **WORLDS),
    Call(dyck.first_layer, model=thing(EXACT), **WORLDS),
    Call(dyck.of_model, model=thing(dyck.attention_model(WORLD, E, M, VALUES)), **WORLDS),
    # -- constructions and exactness
    Call(
        dyck.exact_dyck,
        **WORLDS,
        E=array(E, allows=NUMBERS),
        M=array(ZERO, allows=NUMBERS),
        silent_types=thing((0,), allows="[]"),
        printed_directions=flag(False),
    ),
    Call(
        dyck.theorem_2_2_1,
        **WORLDS,
        E=array(E, allows=NUMBERS),
        M=array(ZERO, allows=NUMBERS),
        silent_types=thing((0,), allows="[]"),
        printed_directions=flag(False),
    ),
    Call(dyck.theorem_2_2_1(WORLD, E, M).certify, strings=tokens(STRINGS)),
    Call(dyck.geometric_dyck, **WORLDS, rho=positive(3.0)),
    Call(dyck.geometric_attention, **WORLDS, rho=positive(3.0), strings=tokens(STRINGS)),
    Call(dyck.prediction_errors, model=thing(EXACT), **WORLDS, strings=tokens(STRINGS)),
    Call(dyck.residual_leak, **WORLDS, E=ROWS, printed=flag(True)),
    Call(
        dyck.independence_as_printed,
        **WORLDS,
        M=array(np.eye(5), allows=NUMBERS),
        W_V=array(np.eye(5), allows=NUMBERS),
    ),
    Call(dyck.corollary_2_2_1_first_layer, **WORLDS, model=thing(UNIFORM), tokens=tokens(STRING)),
    Call(dyck.identity_layers, model=thing(EXACT), **WORLDS, count=count(1)),
    Call(dyck.with_identity_layers, model=thing(EXACT), count=count(1)),
    Call(dyck.with_logits, model=thing(EXACT), M=SQUARE),
    # -- necessity
    Call(
        dyck.Keys,
        counts=array(PAIR[0].counts, allows=("one entry less", "entry 10**6"), names="query"),
        query=thing(PAIR[0].query, allows="0"),
    ),
    Call(dyck.keys_of, **WORLDS, tokens=tokens(STRING), start=flag(True)),
    Call(
        dyck.pumped,
        **WORLDS,
        keys=thing(PAIR[0]),
        times=thing(3, allows=("0", "2**40")),
        type=thing(1, **KIND),
        level=thing(2),
    ),
    Call(dyck.twins, **WORLDS, opened=thing([0, 1]), last=thing(1, **KIND)),
    Call(dyck.output, keys=thing(PAIR[0]), **WEIGHTS, residual=thing("inside")),
    Call(dyck.separation, pair=thing(PAIR), **WEIGHTS, residual=thing("inside")),
    Call(dyck.attention_model, **WORLDS, **WEIGHTS, residual=thing("inside")),
    Call(dyck.first_weights, model=thing(EXACT)),
    Call(dyck.theorem_2_2_1_necessity, **WORLDS, **WEIGHTS),
    Call(
        dyck.pumping,
        **WORLDS,
        pair=thing(PAIR),
        **WEIGHTS,
        type=thing(1, **KIND),
        level=thing(2),
    ),
    Call(dyck.repeated_bracket, model=thing(UNIFORM), **WORLDS),
    Call(dyck.doubled_string, model=thing(UNIFORM), tokens=tokens(STRING), printed=flag(True)),
    Call(dyck.uniform_attention, model=thing(EXACT)),
    # -- approximate balance
    Call(
        dyck.Parameters,
        E=array(GIVEN.E, allows=NUMBERS),
        M=array(GIVEN.M, allows=NUMBERS),
        W_V=array(GIVEN.W_V, allows=NUMBERS),
        types=count(2),
        depth=count(2),
    ),
    Call(GIVEN.open, kind=thing(1, **KIND), depth=thing(2)),
    Call(GIVEN.closed, kind=thing(1, **KIND), depth=thing(1, **KIND)),
    Call(
        dyck.random_parameters,
        rng=thing(RNG),
        types=count(2),
        depth=count(2),
        scale=thing(1.0, allows=("0", "2.5")),
        noise=positive(0.1, allows=("0", "None")),
    ),
    *[
        Call(
            function,
            given=thing(GIVEN),
            N=thing(17, allows=allowed),
            kind=thing(1, **KIND),
            depth=thing(2),
            inner=thing(1, **KIND),
        )
        for function, allowed in ((dyck.approximate_balance, "2**40"), (dyck.Strings, ()))
    ],
    Call(QUERY.parts),
    Call(dyck.theorem_2_2_2, given=thing(GIVEN), N=thing(17, allows="2**40")),
    Call(dyck.equation_2_73, strings=thing(QUERY), printed=flag(True)),
    Call(dyck.telescope, strings=thing(QUERY)),
    Call(dyck.equation_2_72, strings=thing(QUERY), world=thing(Dyck(2, 2)), q=thing(0.5)),
    Call(dyck.lemma_2_2_1, a=VECTOR, b=VECTOR, r=VECTOR, epsilon=positive(0.5), printed=flag(True)),
    Call(dyck.lemma_2_2_1_sharp, a=VECTOR, b=VECTOR, r=VECTOR),
    Call(dyck.excess_loss, **WORLDS, q=thing(0.5), N=count(20)),
    Call(dyck.loss_as_printed, **WORLDS, q=thing(0.5), N=count(20)),
    # -- inequalities
    Call(
        dyck.softmax,
        logits=array(np.eye(2), allows=(*ANY_SIZE, *LISTS, "one axis more", "array of four axes")),
    ),
    Call(dyck.lemma_2_2_8, x=VECTOR, y=VECTOR),
    Call(dyck.lemma_2_2_10, x=VECTOR, y=VECTOR, constant=positive(0.1)),
    Call(
        dyck.lemma_2_2_12,
        x=array(VECTOR.value, allows=(*ANY_SIZE, *LISTS)),
        larger=count(5),
        constant=positive(0.1),
    ),
    Call(
        dyck.lemma_2_2_11,
        P=array(np.eye(2), allows=NUMBERS),
        x=array(np.ones((2, 3)), allows=NUMBERS),
        Q=array(np.eye(2), allows=NUMBERS),
        A=array(np.full((3, 3), 1 / 3)),
        B=array(np.ones((2, 3)), allows=NUMBERS),
        constant=positive(0.1),
    ),
    Call(
        dyck.lemma_2_2_13,
        layer=thing(LAYER),
        x=array(np.ones((2, 3)), allows=NUMBERS),
        y=array(np.ones((2, 3)) / 2, allows=NUMBERS),
        constant=positive(0.1),
        depth=count(1, allows="2**40"),
        factor=positive(200.0),
    ),
    Call(
        dyck.lemma_2_2_5,
        f=thing((double, double)),
        g=thing((double, double)),
        x=array(VECTOR.value, allows=(*ANY_SIZE, *LISTS)),
        growth=positive(2.0, allows="0"),
        lipschitz=positive(2.0, allows="0"),
        first=positive(0.1, allows="0"),
        second=positive(0.1, allows="0"),
    ),
    Call(
        dyck.lemma_2_2_6,
        first=array(FIRST, allows=NUMBERS),
        second=array(SECOND, allows=ANY_SIZE),
        pruned=thing(MLP),
        reports=thing(REPORTS),
        x=array(np.ones((16, 2)), allows=NUMBERS),
    ),
    Call(dyck.error_budget, report=thing(PRUNED.report), constant=positive(0.1), layers=count(1)),
    # -- planted attention
    Call(dyck.zero_head, model=thing(EXACT)),
    Call(dyck.plant, model=thing(TARGET), logits=array(np.eye(2), allows=NUMBERS), at=whole(1)),
    Call(
        dyck.proposition_2_2_1,
        model=thing(TARGET),
        inputs=array(VECTORS, allows=ANY_SIZE),
    ),
    Call(
        dyck.planted_layer,
        model=thing(TARGET),
        logits=array(np.eye(2), allows=NUMBERS),
        inputs=array(VECTORS, allows=ANY_SIZE),
        at=thing(1, allows="0"),
    ),
    Call(dyck.copy_model, **WORLDS, max_length=count(8)),
    Call(dyck.stack_pattern, **WORLDS, max_length=count(8)),
    Call(dyck.closed_pattern, **WORLDS, strength=positive(20.0)),
    Call(dyck.read, model=thing(COPY), **WORLDS, tokens=tokens(STRING)),
    Call(dyck.top_score, **WORLDS, tokens=tokens(STRING), attention=array(MAP)),
    Call(
        dyck.closed_score,
        tokens=tokens(STRING, allows="entry 10**6"),
        attention=array(MAP),
    ),
    # -- matrices and pruning
    Call(dyck.Matrices, **{name: array(w, allows=NUMBERS) for name, w in LAYER._asdict().items()}),
    Call(
        LAYER.check_stack,
        layers=whole(0, allows=()),
        width=count(2, allows="None"),
        name=thing("block", allows="'abc'"),
    ),
    Call(WANTED.layer, index=thing(0, allows=("0", "-1"))),
    Call(
        dyck.transformer,
        matrices=thing(WANTED),
        constant=positive(0.1, allows="0"),
        outputs=count(2, allows="None"),
    ),
    Call(dyck.matrices_of, model=thing(TARGET)),
    Call(dyck.apply, model=thing(TARGET), inputs=array(VECTORS, allows=ANY_SIZE)),
    Call(
        dyck.random_target,
        rng=thing(RNG),
        width=count(2),
        attention=count(2),
        mlp_width=count(2),
        layers=count(1),
        constant=positive(0.1, allows="0"),
    ),
    Call(
        dyck.random_large,
        rng=thing(RNG),
        target=thing(TARGET),
        width=count(2),
        attention=count(2),
        mlp_width=count(2),
    ),
    Call(
        dyck.relative_error,
        model=thing(OTHER),
        target=thing(TARGET),
        inputs=array(VECTORS, allows=ANY_SIZE),
    ),
    Call(
        dyck.Search,
        size=count(6),
        offers=count(1, allows="2**40"),
        tolerance=positive(1e-5, allows="0"),
    ),
    Call(
        dyck.closest_subsets,
        values=array(RNG.normal(size=(2, 4)), allows=(*NUMBERS, *LISTS)),
        targets=array(np.array([0.1, 0.5]), allows=(*NUMBERS, *LISTS)),
    ),
    Call(
        dyck.prune_pair,
        target=array(FIRST, allows=NUMBERS),
        inner=array(BLOCK.up[0], allows=NUMBERS),
        outer=array(BLOCK.down[0], allows=(*NUMBERS, "one entry less")),
        **TWO,
        mode=thing("signed"),
        search=thing(SEARCH),
        name=thing("pair", allows="'abc'"),
    ),
    Call(
        dyck.prune_mlp,
        first=array(FIRST, allows=NUMBERS),
        second=array(SECOND, allows=NUMBERS),
        block=thing(BLOCK),
        **TWO,
        search=thing(SEARCH),
        name=thing("mlp", allows="'abc'"),
    ),
    Call(
        dyck.prune_linear,
        target=array(FIRST, allows=NUMBERS),
        block=thing(BLOCK),
        **TWO,
        search=thing(SEARCH),
        name=thing("linear", allows="'abc'"),
    ),
    Call(dyck.diagonal_entries, value=array(np.ones((4, 4)), allows=NUMBERS), m=count(2)),
    Call(
        dyck.prune_layer,
        target=thing(WANTED.layer(0)),
        blocks=thing(FOUR),
        search=thing(SEARCH),
        name=thing("layer", allows="'abc'"),
    ),
    Call(
        dyck.prune_transformer,
        target=thing(TARGET),
        large=thing(LARGE),
        search=thing(SEARCH),
        places=thing((0,), allows="None"),
    ),
    Call(dyck.is_pruning, pruned=thing(DRAWN), large=thing(DRAWN)),
    *[
        Call(
            function,
            first=thing(TARGET),
            second=thing(OTHER),
            large=thing(LARGE),
            layer=thing(0, allows="0"),
            which=thing("query"),
            **inputs,
            search=thing(SEARCH),
        )
        for function, inputs in (
            (dyck.shared_matrix_pair, {}),
            (dyck.corollary_2_2_3, {"inputs": array(VECTORS, allows=ANY_SIZE)}),
        )
    ],
    Call(
        dyck.theorem_2_2_3,
        target=thing(TARGET),
        large=thing(LARGE),
        search=thing(SEARCH),
        places=thing((0,), allows="None"),
    ),
    Call(CERTIFIED.certify, inputs=array(VECTORS, allows=ANY_SIZE)),
    Call(dyck.theorem_2_2_3_budget, certified=thing(CERTIFIED.certify(inputs=VECTORS))),
    # -- ReLU networks
    Call(
        dyck.Stage,
        **{
            name: array(w, allows=(*NUMBERS, "one entry less") if name == "up" else NUMBERS)
            for name, w in STAGE._asdict().items()
        },
    ),
    Call(
        STAGE,
        x=array(np.ones((2, 2)), allows=(*ANY_SIZE, *LISTS, "one axis more", "array of four axes")),
    ),
    Call(STAGE.after, matrix=array(np.eye(2), allows=ANY_SIZE)),
    Call(
        dyck.lemma_2_2_15,
        points=array(np.eye(3), allows=NUMBERS),
        values=array(np.ones((3, 2)), allows=NUMBERS),
    ),
    Call(
        dyck.lemma_2_2_16,
        given=array(np.eye(4)[:2] + 0.1, allows=ANY_SIZE),
        v=array(np.arange(1.0, 5), allows=NUMBERS),
    ),
    Call(
        dyck.lemma_2_2_17,
        x=array(np.ones((2, 3)), allows=NUMBERS),
        y=array(np.array([1.0, 3.0])),
        bound=positive(2.0),
    ),
    Call(dyck.lemma_2_2_18, x=array(np.eye(3), allows=ANY_SIZE), threshold=positive(0.5)),
    Call(
        dyck.lemma_2_2_19,
        stages=thing([STAGE, STAGE]),
        x=array(np.ones((2, 2)), allows=ANY_SIZE),
        printed=flag(True),
    ),
    Call(
        dyck.lemma_2_2_20,
        W=array(np.eye(3), allows=NUMBERS),
        x=array(np.ones((2, 3)), allows=ANY_SIZE),
    ),
]

# Records that functions return, under jit and vmap too, where they are filled with whatever JAX likes.
# Nothing takes them.
ANSWERS = {dyck.FirstLayer, dyck.Violation}


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


@pytest.mark.long
def test_another_of_the_same_class_is_an_answer_or_a_sentence():
    """Worlds of other sizes, models and matrices of other shapes: no exception but ours."""
    others = {
        Dyck: [Dyck(1, 1), Dyck(3, 2), Dyck(2, 1), Dyck(1, 3)],
        Transformer: [EXACT, UNIFORM, COPY, TARGET, LARGE, dyck.uniform_dyck(Dyck(1, 1)), HEADS],
        dyck.Matrices: [LAYER, FOUR, BLOCK, DRAWN, WANTED],
        dyck.Keys: [dyck.keys_of(Dyck(1, 1), [0, 1])],
        dyck.Parameters: [dyck.random_parameters(RNG, *size) for size in ((1, 2), (2, 1), (3, 3))],
        dyck.Search: [dyck.Search(1, 1, 0.0), dyck.Search(20, 4)],
    }
    for call in CALLS:
        anyhow = [*call.arguments, "model", "strings"]  # the sentence may be about another argument
        for name, argument in call.arguments.items():
            for other in others.get(type(argument.value), []):
                what, text = attempt(call, name, other, anyhow)
                assert what in ("sentence", "accepted"), f"{call}({name}={other}): {what}: {text}"


def test_every_public_callable_is_swept():
    public = {getattr(dyck, name) for name in dyck.__all__ if callable(getattr(dyck, name))}
    swept = {one for one in public if any(one is call.function for call in CALLS)}
    assert len(swept) > 90 and public - swept == ANSWERS
