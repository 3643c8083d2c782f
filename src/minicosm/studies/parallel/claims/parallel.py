"""Which chains a Transformer can run in parallel: Section 4.1.4.1."""

from minicosm.lab import Outcome, Table

from ...common.checks import Results, both, identity
from ..study import STUDY
from .trials import EXACT, PAPER, parallel, rows, verdict

STUDY.claim(
    id="parallel/proposition-4.1.2",
    title="A Transformer of one layer takes any deterministic step, and its iterates",
    source=f"{PAPER}, Propositions 4.1.2 and 4.3.4",
    statement=(
        "For any map f of sequences there is a Transformer of one layer whose most likely tokens are f; run "
        "on its own output it gives the iterates of f."
    ),
    criterion="No token of seven iterates from every sequence is wrong, for random maps.",
    trials=parallel,
)(identity("deterministic", tolerance=0.0))

STUDY.claim(
    id="parallel/proposition-4.1.3",
    title="A Transformer of one layer takes any step whose rows are products",
    source=f"{PAPER}, Propositions 4.1.3 and 4.3.5",
    statement=(
        "For any kernel whose rows are product laws there is a Transformer of one layer that predicts them, "
        "with zeros replaced by 1e-26; one block that is chosen beforehand and has one position is such."
    ),
    criterion=f"{EXACT} 1e-12 for the laws and for the total variation of rows.",
    trials=parallel,
)(
    both(
        identity("product", tolerance=1e-12),
        both(
            identity("product-kernel", tolerance=1e-12),
            identity("chosen-block", tolerance=1e-12),
        ),
    )
)


@STUDY.claim(
    id="parallel/only-products",
    title="And no other: dependence within a row is what it cannot do",
    source=f"{PAPER}, Proposition 4.3.5",
    statement=(
        "KL(row || any product) is at least the row's total correlation, with equality for the product of "
        "its marginals. It is zero for a chosen block of one, the independent parallel sampler and "
        "denoisers, and positive for k-Gibbs with k >= 2."
    ),
    criterion=(
        "Equality to 1e-10 and no product below; total correlations at most 1e-10 where zero is stated, and "
        "above 1e-3 for 2-Gibbs and 3-Gibbs, in every world."
    ),
    trials=parallel,
)
def only_products(results: Results) -> Outcome:
    found, projection = rows(results, "dependence"), rows(results, "projection")
    zero = max(
        max(found[name]) for name in ("fixed_block_of_1", "independent_parallel", "denoiser")
    )
    least = min(min(found[name]) for name in ("2-Gibbs", "3-Gibbs"))
    holds = (
        zero <= 1e-10
        and least > 1e-3
        and max(projection["error"]) <= 1e-10
        and min(projection["least"]) >= -1e-10
    )
    lines = tuple(
        (name.replace("_", " "), min(values), max(values)) for name, values in found.items()
    )
    table = Table("largest total correlation of a row", ("chain", "least", "most"), lines)
    return Outcome(
        "holds" if holds else "fails",
        {"least of k-Gibbs, k >= 2": least, "most of the products": zero},
        (table,),
    )


@STUDY.claim(
    id="parallel/one-gibbs-as-printed",
    title="Each transition of 1-Gibbs is a product law",
    source=f"{PAPER}, Section 4.1.4.1",
    statement="The standard 1-Gibbs sampler, which picks its position at random, has product transitions.",
    criterion="Fails if in one world a row has a total correlation above 1e-3.",
    trials=parallel,
    expected="fails",
    erratum=(
        "Which position changes is random and shared by all: the row is a mixture over positions, not a "
        "product. Given the position, as a mask or by a fixed order, it is one."
    ),
    corrected_by="parallel/only-products",
)
def one_gibbs(results: Results) -> Outcome:
    found = rows(results, "dependence")
    random, fixed = found["1-Gibbs,_random_block"], found["fixed_block_of_1"]
    return verdict(
        max(random) <= 1e-3,
        total_correlation_random_position=max(random),
        total_correlation_fixed_position=max(fixed),
    )
