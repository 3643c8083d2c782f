"""Gradient descent and damped Newton need exponentially many steps (Section 4.1.3.2)."""

from minicosm.lab import Outcome, Results, Table, above, all_of, holds, rows, worst

from ..figures.steps import steps_figure
from ..readings import exponents, increases, ordered
from ..study import STUDY, THESIS
from ..trials import landscape, steps

claim = STUDY.section(__doc__)


def _exponential(results: Results, name: str, low: float) -> Outcome:
    found = rows(results, name)
    R, counts, bounds = (ordered(found, column) for column in ("R", "steps", "bound"))
    lines = zip(R, counts, ordered(found, "scaled"), bounds, strict=True)
    return all_of(
        holds(name)(results),
        above(r"least increase of steps $e^{-R^2/8}$", increases(ordered(found, "scaled")), 0.0),
        numbers={
            f"log steps: {fit}": estimate
            for fit, estimate in exponents(found, "steps", low=low).items()
        },
        tables=(
            Table("steps", ("R", "steps", r"steps $e^{-R^2/8}$", "lower bound"), tuple(lines)),
        ),
    )


@claim(
    id="nce/theorem-17",
    title="Gradient descent needs exponentially many steps",
    source=f"{THESIS}, Section 4.1.3.2, Theorem 17",
    statement=(
        r"Gradient descent from the noise with the standard step size needs a number of steps exponential "
        r"in $R^2$ to come close to $\tau_*$."
    ),
    criterion=(
        r"With $\eta = 8/(R^2 + 2)$ until $0.1 R$: the steps times $e^{-R^2/8}$ increase with $R$, and "
        r"are at least $0.05 R / (\eta \max |\langle \nabla L, u \rangle|)$ with the maximum over the "
        r"ring of Lemma 49."
    ),
    trials=steps,
    uses=("nce/lemma-49", "nce/lemma-50", "nce/lemma-48"),
    figure=steps_figure,
)
def theorem_17(results: Results) -> Outcome:
    return _exponential(results, "Theorem 17", low=2)


@claim(
    id="nce/theorem-18",
    title="Newton's method with the standard damping does, too",
    source=f"{THESIS}, Section 4.1.3.2, Theorem 18",
    statement=(
        r"Newton's method from the noise with step size $\lambda_\rho/\lambda_M$, the least over the "
        r"largest curvature, "
        "needs exponentially many steps."
    ),
    criterion=(
        r"Until $0.1 R$: the steps times $e^{-R^2/8}$ increase with $R$, and are at least those that "
        r"gradients and "
        "curvatures of the ring allow."
    ),
    trials=steps,
    uses=("nce/theorem-18-inequality", "nce/lemma-47", "nce/lemma-48"),
)
def theorem_18(results: Results) -> Outcome:
    return _exponential(results, "Theorem 18", low=1)


@claim(
    id="nce/theorem-18-inequality",
    title="In the ring the whole gradient is small, and so is a damped Newton step",
    source=f"corrected from {THESIS}, Section 4.1.9.1, Equations 4.60 and 4.62",
    statement=(
        r"In the ring $\lVert\nabla L\rVert = O(1) \, e^{-0.5625 R^2/8}$; a Newton step of size $\eta$ is "
        r"at most $\eta \lVert\nabla L\rVert / \sigma_{\min}(\nabla^2 L)$ long and comes no nearer than "
        r"that."
    ),
    criterion=(
        r"At 5 radii and 181 angles, for every $R \ge 8$, the largest gradient over $e^{-0.5625 R^2/8}$ "
        r"is at most 0.53."
    ),
    trials=landscape,
    kind="lemma",
)
def newton_step(results: Results) -> Outcome:
    found = rows(results, "Theorem 18, inequality")
    return all_of(
        holds("Theorem 18, inequality")(results),
        numbers={"largest, scaled": worst(ordered(found, "scaled", low=8))},
    )


@claim(
    id="nce/newton-undamped",
    title="Newton with step size 1 needs 2R steps: the damping is what costs",
    source=f"added to {THESIS}, Section 4.1.3.2, Theorem 18",
    statement=(
        r"Newton's method from the noise with step size 1 comes within $1/R$ of $\tau_*$ in at most $2R$ "
        r"steps."
    ),
    criterion="At every $R$ the steps are at most $2R$.",
    trials=steps,
    figure=steps_figure,
)
def newton_undamped(results: Results) -> Outcome:
    found = rows(results, "Newton with step size 1")
    return all_of(
        holds("Newton with step size 1")(results),
        numbers={f"steps, R = {R:g}": n for R, n in zip(found["R"], found["steps"], strict=True)},
    )
