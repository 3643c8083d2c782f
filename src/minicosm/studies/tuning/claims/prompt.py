"""Section 3.1: a soft prompt and a linear head on worlds without memory."""

from minicosm.lab import Outcome

from ...common.checks import EXACT, TOLERANCE, Results, always, both, identity, never_close
from ...common.figures import identity_figure
from ..study import STUDY
from .checks import IDENTITY, PAPER, suite

PROMPT = suite("prompt")
SEARCH = suite("prompt", "search", factor=2)
SEPARABLE = suite("prompt", "separable")
HEAD = suite("head")
PRINTED = suite("printed")


@STUDY.claim(
    id="prompt-tuning/theorem-3.6",
    title="A prompt relaxes independence to the states that matter",
    source=f"{PAPER}, Theorem 3.6",
    statement=(
        "If the chain is regular and some B has H* = union of supp(A[:,b]) covering supp(mu) with "
        "independent emission columns, then the prompt row u = 1_B and the head "
        "b = sum_{h in H*} mu_h p0_h / c_h row_h(W[:,H*]^+), c = A(u * p1), satisfy "
        "b.G_2(u, placeholder, x) = Pr(x) / ||c * P[x|H_0]||_1 mu.P[H_0|x] for every possible x. Where "
        "the prompt rules x out, the output and the exact score are both zero."
    ),
    criterion=IDENTITY
    + " The worlds have more states than tokens, so that no world satisfies Assumption 3.1; outputs "
    "that the prompt rules out are exactly zero.",
    trials=PROMPT,
    figure=identity_figure("suite", "theorem-3.6", TOLERANCE),
)
def theorem_3_6(results: Results) -> Outcome:
    outcome = both(identity("theorem-3.6"), identity("theorem-3.6-long"))(results)
    rows = results["suite"].numbers["theorem-3.6"]
    zero = max(rows["largest_output_when_excluded"])
    right = zero == 0 and not any(rows["head_exists"])
    return Outcome(
        outcome.verdict if right else "fails",
        {
            **outcome.numbers,
            "sequences ruled out by the prompt": sum(rows["excluded_by_the_prompt"]),
            "largest output there": zero,
        },
    )


STUDY.claim(
    id="prompt-tuning/theorem-3.6-classes",
    title="One prompt serves all classes",
    source=f"{PAPER}, Theorem 3.6, multiclass remark",
    statement=(
        "With one row of mu per class and H* covering the union of their supports, the same prompt and "
        "one head per row give the label of every possible sequence."
    ),
    criterion=IDENTITY,
    trials=PROMPT,
    figure=identity_figure("suite", "theorem-3.6-classes", TOLERANCE),
)(identity("theorem-3.6-classes"))

STUDY.claim(
    id="prompt-tuning/all-states",
    title="Without anything to leave out the prompt is all ones",
    source=f"{PAPER}, Theorems 3.3 and 3.6",
    statement=(
        "Under Assumption 3.1 the choice B = all states gives the prompt u = 1, and Theorem 3.6 "
        "becomes Theorem 3.3 one position later."
    ),
    criterion=IDENTITY,
    trials=HEAD,
    figure=identity_figure("suite", "all-states", TOLERANCE),
)(identity("all-states"))


@STUDY.claim(
    id="prompt-tuning/lemma-c.1",
    title="A prompt row is a fake token",
    source=f"{PAPER}, Lemma C.1",
    statement=(
        "Message passing on (u, placeholder, e(x)) computes tau_i = P[H_i, X^_-i] of the HMM in which "
        "a fake token is emitted at position 1 with probabilities u, and for i > 1 the output is its "
        "conditional law, the zero vector if the context is impossible."
    ),
    criterion=(
        "Agreement with an explicit sum over hidden paths to 1e-9, for rows u with entries 0, 1 and "
        "between; outputs at impossible contexts are exactly zero."
    ),
    trials=PROMPT,
    kind="lemma",
    figure=identity_figure("suite", "lemma-c.1", TOLERANCE),
)
def lemma_c1(results: Results) -> Outcome:
    outcome = identity("lemma-c.1")(results)
    rows = results["suite"].numbers["lemma-c.1"]
    exact = max(rows["largest_impossible"]) == 0
    return Outcome(
        outcome.verdict if exact else "fails",
        {**outcome.numbers, "impossible contexts": sum(rows["impossible"])},
    )


STUDY.claim(
    id="prompt-tuning/lemma-c.2",
    title="Prompt and text enter the posterior as a product",
    source=f"{PAPER}, Lemma C.2 and equation 3.3",
    statement=(
        "P[H_2 | fake token, x] = r_x (1/p0) * (A(u * p1)) * P[H_0|x] with "
        "r_x = Pr(x) / Pr(fake token, x)."
    ),
    criterion=EXACT + " Both sides are sums over hidden paths.",
    trials=PROMPT,
    kind="lemma",
    figure=identity_figure("suite", "lemma-c.2", TOLERANCE),
)(identity("lemma-c.2"))

STUDY.claim(
    id="prompt-tuning/search",
    title="The search for the essential states is exact",
    source="Assumption 3.5 as an algorithm",
    statement=(
        "Backtracking over columns of A finds sets (B, H*) of Assumption 3.5 exactly when some B "
        "exists among all subsets of states."
    ),
    criterion="It agrees with trying every B on every world of 6 states.",
    trials=SEARCH,
    kind="lemma",
)(always("search-exact", "agrees"))

STUDY.claim(
    id="prompt-tuning/prompt-length",
    title="For the exact model prompt length is irrelevant",
    source="refinement of Section 3.1",
    statement=(
        "A prompt acts on the exact model only through c = A w with w >= 0, so every prompt of 20 rows "
        "equals some prompt of one row."
    ),
    criterion="The outputs of a random prompt of 20 rows and of the constructed single row agree to 1e-9.",
    trials=PROMPT,
    figure=identity_figure("suite", "prompt-length", TOLERANCE),
)(identity("prompt-length"))


@STUDY.claim(
    id="prompt-tuning/separable",
    title="A weaker condition suffices, and decides",
    source="refinement of Theorem 3.6",
    statement=(
        "Prompt and head solve a task whenever (W^T b) * (A w) is proportional to mu * p0 for some b "
        "and some w >= 0. In a world of 6 states where 3.3 and 3.6 do not apply, mu = (1, -2, .7) is "
        "solved so, and mu = (1, 2, -1.5) is not separable."
    ),
    criterion=(
        "Neither theorem applies; for the first task the construction is exact to 1e-9 on all "
        "sequences of length 6; for the second the linear program is infeasible."
    ),
    trials=SEPARABLE,
)
def separable(results: Results) -> Outcome:
    outcome = identity("separable")(results)
    numbers = results["suite"].numbers
    neither = not any(
        numbers[name][c][0] for name in ("separable", "inseparable") for c in ("covered", "head")
    )
    decided = numbers["separable"]["applies"][0] and not numbers["inseparable"]["applies"][0]
    return Outcome(outcome.verdict if neither and decided else "fails", outcome.numbers)


# -- printed slips ----------------------------------------------------------------------------

STUDY.claim(
    id="prompt-tuning/equation-c.1-as-printed",
    title="Aggregated messages without a division",
    source=f"{PAPER}, equation C.1",
    statement="At inner positions tau_i is the product of the left and the right message.",
    criterion="Fails if some world has a conditional off by more than 1e-3.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "Both messages carry the prior P[H_i], so it is counted twice. The product has to be divided "
        "by P[H_i], as equation D.3 indicates."
    ),
    corrected_by="prompt-tuning/equation-c.1",
)(never_close("messages", "printed"))

STUDY.claim(
    id="prompt-tuning/equation-c.1",
    title="Aggregated messages divided by the prior",
    source=f"{PAPER}, equation C.1, corrected",
    statement="At inner positions tau_i is the product of the two messages divided by P[H_i].",
    criterion=EXACT + " The referee is a sum over hidden paths.",
    trials=PRINTED,
    kind="lemma",
    figure=identity_figure("suite", "messages", TOLERANCE, "right"),
)(identity("messages", column="right"))

STUDY.claim(
    id="prompt-tuning/left-inverse-as-printed",
    title="The left inverse returns W D v",
    source=f"{PAPER}, proof of Theorem 3.6",
    statement="W^+ W D v = W D v for v supported on H*.",
    criterion="Fails if some world is off by more than 1e-3.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum="A left inverse on H* returns D v; the printed right side has an entry per token, not per state.",
    corrected_by="prompt-tuning/left-inverse",
)(never_close("left-inverse", "printed"))

STUDY.claim(
    id="prompt-tuning/left-inverse",
    title="The left inverse returns D v",
    source=f"{PAPER}, proof of Theorem 3.6, corrected",
    statement="W^+ W D v = D v for v supported on H*.",
    criterion=EXACT,
    trials=PRINTED,
    kind="lemma",
    figure=identity_figure("suite", "left-inverse", TOLERANCE, "right"),
)(identity("left-inverse", column="right"))


@STUDY.claim(
    id="prompt-tuning/proportional-as-printed",
    title="The other tokens are emitted in proportion to (1-u) e(z)",
    source=f"{PAPER}, Section 3.1",
    statement=(
        "P[X_1=z | H_1] proportional to (1-u) * e(z) for every z, together with P[X_1=fake | H_1] = u, "
        "determines the modified world."
    ),
    criterion="Fails if some world has another law of that form, off by more than 1e-3.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "With dependent rows of W other factors per token give laws as well. Lemma C.1 has equality, "
        "which needs no normalising: the column sums are one as they are."
    ),
    corrected_by="prompt-tuning/lemma-c.1",
)
def proportional(results: Results) -> Outcome:
    rows = results["suite"].numbers["proportional"]
    off = sum(gap > 1e-3 for gap in rows["law_gap"])
    return Outcome(
        "fails" if off else "holds",
        {
            "worlds with another law": off,
            "largest difference of Pr(X_1)": max(rows["law_gap"]),
            "column sums with equality off by": max(rows["equality_error"]),
        },
    )
