"""Hostile calls of the theory of parallel decoding: a bad argument meets one sentence that names it."""

import numpy as np
import pytest

from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    not_called,
    positive,
    probability,
    report,
    thing,
)
from minicosm.theory import parallel
from minicosm.theory.parallel import (
    bounds,
    hitting,
    information,
    kernels,
    lumped,
    mixing,
    transformers,
)
from minicosm.worlds import CliqueIsing, Fertility, Ising, MaskLaw

pytestmark = pytest.mark.usefixtures("unchecked_types")

SPINS = Ising([0.3, -0.2], [[0, 0.5], [0.5, 0]])
JOINT, SCORES, THETA = SPINS.joint(), SPINS.statistics(), SPINS.parameters()
MASKS, ADAPTIVE = MaskLaw.uniform(2, 1), MaskLaw.adaptive([[0], [1]], np.full((4, 2), 0.5), 2)
CLIQUE = CliqueIsing(4, 3, 2.0, 0.1)
KERNEL = kernels.block_dynamics(JOINT, MASKS)
PRODUCT = kernels.independent_parallel(JOINT)
START, TARGET = np.array([1.0, 0, 0, 0]), np.array([False, False, False, True])
COVARIANCE = information.asymptotic_covariance(JOINT, SCORES, MASKS)
SIZES = bounds.Sizes(2, 2, 10, 3, 0.1, 0.5, 1.0, 2.0)
IMAGE = np.array([[1, 0], [0, 1], [0, 0], [1, 1]])
STEP = parallel.proposition_4_1_2(IMAGE, 2)
MODEL = transformers.product(kernels.parallel_laws(JOINT))
LARGE = ("2**40", "2**70")
NUMBERS = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do

joint, masks, spins, clique = thing(JOINT), thing(MASKS), thing(SPINS), thing(CLIQUE)
WORLD = {"joint": joint, "masks": masks}
scores = array(SCORES, allows=NUMBERS, names="statistics")
theta = array(THETA, allows=NUMBERS)
function = array(np.array([1.0, 2, 0, 1]), allows=NUMBERS)
kernel, anything = array(KERNEL), array(KERNEL, allows=NUMBERS)
start, law, target = array(START), array(JOINT.probabilities), array(TARGET)
image = array(IMAGE)
hidden = array(np.array([True, False]))
vocab = count(2)
size = count(2, allows=LARGE)  # only its logarithm enters
k = count(1)
delta = thing(0.1)
constant = thing(3.0, allows=("inf", "2.5", *LARGE))
rng = thing(np.random.default_rng(0))
definite = array(np.eye(2), allows=("entry 10**6", "plus .5"))
symmetric = array(np.eye(2), allows=NUMBERS)
BOUND = {"length": size, "vocab": size, "log_margin": positive(2.0)}
DATA = {"masks_per_example": size, "examples": size}
LAWS = {"r": law, "q": law, "masks": masks, "vocab": vocab}
CHAIN = {"P": kernel, "target": target}

CALLS = [
    Call(parallel.lemma_4_1_2, joint=joint, statistics=scores, theta=theta, masks=masks),
    Call(parallel.zero_mean_score, joint=joint, statistics=scores, masks=masks),
    Call(parallel.mask_as_evidence, joint=joint, statistics=scores, theta=theta, masks=masks),
    Call(parallel.theorem_4_1_1, joint=joint, scores=scores, k=k, more=count(2, allows="None")),
    Call(parallel.covariance_falls, first=thing(COVARIANCE), second=thing(COVARIANCE)),
    Call(parallel.identifiable, found=thing(COVARIANCE)),
    Call(parallel.chain_rule, joint=joint, scores=scores, k=k),
    Call(parallel.information_grows, joint=joint, scores=scores, less=masks, more=masks),
    Call(
        parallel.proposition_4_3_6,
        joint=joint,
        statistics=scores,
        masks=masks,
        middle=theta,
        half=theta,
    ),
    Call(parallel.theorem_4_1_2, joint=joint, scores=scores, masks=masks),
    Call(parallel.poincare_improves, joint=joint, k=k),
    Call(parallel.proposition_4_1_1, **WORLD, f=function, g=function),
    Call(parallel.equation_4_26_as_printed, joint=joint, masks=thing(ADAPTIVE)),
    Call(parallel.lemma_4_3_2, **WORLD, hidden=hidden),
    Call(parallel.rows_are_laws, P=anything),
    Call(parallel.block_dynamics_are_reversible, **WORLD),
    Call(parallel.chi_squared_decay, **WORLD, start=start),
    Call(parallel.kl_decay, **WORLD, start=start, constant=constant, as_printed=flag(False)),
    Call(parallel.entropy_bracket, bracket=thing(mixing.Bracket(1.0, 2.0, START))),
    Call(parallel.definition_4_1_9, **LAWS, constant=constant),
    Call(parallel.proposition_4_3_1, **LAWS, constant=constant),
    Call(parallel.proposition_4_3_1_as_printed, **LAWS),
    Call(parallel.equation_4_30, learned=joint, empirical=law, masks=masks),
    Call(parallel.lemma_4_3_6, joint=joint, examples=count(3), delta=delta),
    Call(
        parallel.corollary_4_3_1,
        length=count(3),
        vocab=size,
        margin=positive(2.0),
        m=size,
        n=size,
        delta=delta,
    ),
    Call(
        parallel.lemma_4_3_5,
        world=spins,
        masks=masks,
        n=count(5, allows="2**40"),
        m=count(5, allows="2**40"),
        delta=delta,
        radius=positive(1.0),
        samples=count(2),
        rng=rng,
    ),
    Call(
        parallel.theorem_4_1_4,
        world=spins,
        masks=masks,
        sizes=thing(SIZES),
        radius=positive(1.0),
        samples=count(2),
        rng=rng,
    ),
    Call(parallel.independent_parallel_law, world=spins),
    Call(parallel.proposition_4_3_3, world=clique),
    Call(parallel.proposition_4_1_4, world=clique, k=count(3), delta=delta),
    Call(
        parallel.proposition_4_1_5,
        world=clique,
        delta=delta,
        most=count(10, allows=LARGE),
        as_printed=flag(False),
    ),
    Call(parallel.equation_4_44, world=clique),
    Call(parallel.corollary_4_1_1, world=clique, k=count(3), budget=count(2), delta=delta),
    Call(
        parallel.proposition_4_1_2,
        image=image,
        vocab=count(2, names="tokens"),
    ),
    Call(STEP.certify, iterates=count(1)),
    Call(
        parallel.product_step,
        P=array(PRODUCT),
        vocab=vocab,
        length=vocab,
        name=thing("a step", allows="'abc'"),
        within=positive(1e-10, allows="0"),
    ),
    Call(parallel.proposition_4_1_3, P=array(PRODUCT), vocab=vocab, length=vocab),
    Call(
        parallel.best_product,
        P=array(PRODUCT),
        vocab=vocab,
        length=vocab,
        laws=array(kernels.parallel_laws(JOINT)),
    ),
    Call(
        parallel.exact_stutter,
        world=thing(Fertility([0.5, 0.5], source_vocab=3, shortest=2, longest=3)),
    ),
    # bounds
    Call(
        bounds.Sizes,
        **dict.fromkeys(("length", "vocab", "examples", "masks_per_example"), size),
        delta=delta,
        epsilon=positive(0.5),
        log_cover=positive(1.0, allows="0"),
        log_margin=positive(2.0, allows="0"),
    ),
    Call(
        bounds.margin_and_cover,
        length=size,
        parameters=size,
        radius=positive(1.0),
        epsilon=positive(0.5),
    ),
    Call(bounds.loss_gap, sizes=thing(SIZES)),
    Call(bounds.empirical_gap, length=size, vocab=size, examples=size, delta=delta),
    Call(
        bounds.joint_bound,
        sizes=thing(SIZES),
        entropy_constant=constant,
        loss=positive(1.0, allows="0"),
    ),
    Call(bounds.pointwise_gap, **BOUND, **DATA, e=positive(1.0), t=positive(1.0, allows="0")),
    Call(bounds.corollary_choice, **BOUND, **DATA, delta=delta),
    Call(bounds.corollary_gap, **BOUND, **DATA, delta=delta),
    Call(bounds.strongly_ferromagnetic, world=clique),
    Call(bounds.reach_probability, world=clique, k=count(3)),
    Call(bounds.log_reach_probability, world=clique, k=count(3)),
    Call(bounds.reach_steps, world=clique, k=count(3), delta=delta),
    Call(bounds.stuck, world=clique, delta=delta),
    Call(bounds.stuck_at_start, clique=count(3)),
    Call(bounds.separation, budget=size, delta=delta),
    Call(bounds.least_k, length=count(4, allows=LARGE), clique=count(3), delta=delta),
    *[
        Call(getattr(bounds, name), C=constant)
        for name in ("chi_squared_rate", "kl_rate", "printed_kl_rate")
    ],
    # hitting
    Call(hitting.expected_steps, **CHAIN),
    Call(hitting.survival, **CHAIN, start=start, budget=count(3, allows="0")),
    Call(hitting.survival_at, **CHAIN, start=start, steps=count(3, allows=("0", *LARGE))),
    Call(hitting.hit_probability, **CHAIN, start=start, budget=count(3, allows="0")),
    Call(hitting.capped_steps, **CHAIN, start=start, budget=count(3, allows="0")),
    Call(hitting.reach_in_one, **WORLD, target=target),
    # information
    Call(information.fisher, joint=joint, scores=scores),
    Call(
        information.residuals,
        weights=array(JOINT.probabilities, allows=("entry 10**6", "plus .5"), names="values"),
        values=scores,
        mask=array(np.array([True, False]), names="the length"),
        vocab=vocab,
    ),
    Call(information.masked_scores, joint=joint, scores=scores, masks=masks),
    Call(information.information, joint=joint, scores=scores, masks=masks),
    Call(information.averaged_information, joint=joint, scores=scores, masks=masks),
    Call(
        information.asymptotic_covariance,
        joint=joint,
        scores=scores,
        masks=masks,
        masks_per_example=thing(2.0, allows=("inf", "2.5", *LARGE)),
    ),
    Call(information.chain_rule_term, joint=joint, scores=scores, k=count(1, allows="0")),
    Call(information.least_eigenvalue, matrix=symmetric),
    Call(information.whitened_gap, larger=definite, smaller=symmetric),
    Call(information.relative_inefficiency, I=definite, covariance=symmetric),
    # kernels
    Call(kernels.check_dense, states=count(4, allows="0")),
    Call(kernels.contexts, joint=joint, mask=hidden),
    Call(kernels.block_dynamics, **WORLD),
    Call(kernels.pair_chain, **WORLD),
    Call(kernels.k_gibbs, joint=joint, k=k),
    Call(kernels.parallel_laws, joint=joint),
    Call(kernels.independent_parallel, joint=joint),
    Call(kernels.denoiser_laws, joint=joint, keep=probability(0.5)),
    Call(kernels.denoiser, joint=joint, keep=probability(0.5), argmax=flag(False)),
    Call(
        kernels.parallel_stationary,
        h=array(SPINS.h, allows=(*NUMBERS, "tokens far outside", "tokens below zero")),
        J=array(SPINS.J),
    ),
    Call(kernels.stochastic_error, P=anything),
    Call(kernels.reversibility_error, P=anything, mu=law),
    Call(kernels.stationary, P=kernel),
    Call(kernels.closed_classes, moves=array(KERNEL > 0)),
    Call(kernels.evolve, P=kernel, start=start, steps=count(3, allows="0")),
    Call(kernels.fixed_block, joint=joint, mask=hidden),
    # lumped
    Call(lumped.clique_share, world=thing(CLIQUE.lumped()), k=k),
    Call(lumped.k_gibbs, world=thing(CLIQUE.lumped()), k=k),
    Call(lumped.independent_parallel, world=thing(CLIQUE.lumped())),
    Call(lumped.at, world=thing(CLIQUE.lumped()), s=count(1, allows="0")),
    # mixing
    Call(mixing.dirichlet, P=kernel, mu=law, f=function, g=function),
    Call(mixing.conditional_covariance, **WORLD, f=function, g=function),
    Call(mixing.eigenvalues, P=kernel, mu=law),
    Call(mixing.poincare, P=kernel, mu=law),
    Call(mixing.slow_poincare, P=kernel, mu=law),
    Call(mixing.parts, P=kernel, mu=law),
    Call(mixing.chi_squared, p=array(START, allows="one axis more"), mu=law),
    Call(mixing.kl, p=array(START, allows="one axis more"), mu=law),
    Call(mixing.total_variation, p=array(START, allows="one axis more"), q=law),
    Call(mixing.conditional_kl, **LAWS),
    Call(mixing.entropy_upper, C=constant, least=thing(0.2)),
    Call(
        mixing.entropy_constant,
        **WORLD,
        starts=count(2, allows="0"),
        steps=count(3, allows="0"),
        seed=count(1, allows=("0", *LARGE)),
    ),
    # transformers
    Call(transformers.lookup, logits=array(np.ones((4, 2, 2)), allows=NUMBERS)),
    Call(
        transformers.deterministic,
        image=image,
        vocab=vocab,
    ),
    Call(transformers.product, laws=array(kernels.parallel_laws(JOINT))),
    Call(transformers.laws_of, model=thing(MODEL), length=count(2)),
    Call(
        transformers.predict_all,
        model=thing(MODEL),
        tokens=array(np.array([[0, 1], [1, 1]]), allows="one entry less"),
    ),
    Call(transformers.kernel_of, model=thing(MODEL), length=count(2), argmax=flag(False)),
    Call(transformers.row_dependence, P=array(PRODUCT), vocab=vocab, length=vocab),
]


def test_every_front_door_is_in_the_table():
    assert not not_called(parallel, CALLS)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
