"""Which chains a Transformer can run in parallel: Sections 4.1.4.1 and 4.3.9."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    above,
    all_of,
    holds,
    least,
    refuted,
    rows,
    worst,
)

from ..study import STUDY, THESIS
from ..trials import steps

claim = STUDY.section(__doc__)

claim(
    id="parallel/proposition-4.1.2",
    title="A Transformer of one layer takes any deterministic step, and its iterates",
    source=f"{THESIS}, Sections 4.1.4.1 and 4.3.9, Propositions 4.1.2 and 4.3.4",
    statement=(
        "For any map $f$ of sequences there is a Transformer of one layer whose most likely tokens are $f$; "
        "run on its own output it gives the iterates of $f$."
    ),
    criterion="No sequence of seven iterates from every sequence is wrong, for random maps.",
    trials=steps,
    check=holds("Proposition 4.1.2"),
)


@claim(
    id="parallel/proposition-4.1.3",
    title="A Transformer takes in parallel the steps whose rows are products, and no others",
    source=f"{THESIS}, Sections 4.1.4.1 and 4.3.9, Propositions 4.1.3 and 4.3.5",
    statement=(
        "For any kernel whose rows are product laws there is a Transformer of one layer that predicts them, "
        "with zeros replaced by $10^{-26}$. For any other, "
        r"$\operatorname{KL}(\text{row} \,\|\, \text{any product})$ is at least the row's total "
        "correlation, with equality for the product of its marginals. It is zero for a chosen block of "
        r"one, the independent parallel sampler and denoisers, and positive for $k$-Gibbs with $k \ge 2$."
    ),
    criterion=(
        "Laws and total variation of rows agree to $10^{-12}$. Equality to $10^{-10}$ and no product below; "
        "total correlations at most $10^{-10}$ where zero is stated, and above $10^{-3}$ for 2-Gibbs and "
        "3-Gibbs, in every world."
    ),
    trials=steps,
)
def products(results: Results) -> Outcome:
    found = rows(results, "total correlation")
    lines = tuple((name, least(found[name]), worst(found[name])) for name in found)
    return all_of(
        holds("Proposition 4.1.3", "Proposition 4.3.5", "product step")(results),
        above(r"least of $k$-Gibbs, $k \ge 2$", [found["2-Gibbs"], found["3-Gibbs"]], 1e-3),
        tables=(Table("largest total correlation of a row", ("chain", "least", "most"), lines),),
    )


claim(
    id="parallel/one-gibbs-as-printed",
    title="Each transition of 1-Gibbs is a product law",
    source=f"{THESIS}, Section 4.1.4.1",
    statement="The standard 1-Gibbs sampler, which picks its position at random, has product transitions.",
    criterion="Fails if in one world a row has a total correlation above $10^{-3}$.",
    trials=steps,
    check=refuted("1-Gibbs as printed"),
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        "The sentence is true of a step whose position is given, by a fixed order or as a mask in the "
        "input, and that is probably meant. With the position drawn at random, as in Definition 4.1.10, the "
        "transition from a state is a mixture over positions; its exact total correlation is positive. What "
        "the section concludes about $k > 1$ does not depend on it.",
        corrected_by="parallel/proposition-4.1.3",
    ),
)
