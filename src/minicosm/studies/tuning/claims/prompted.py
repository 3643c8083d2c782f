"""Section 4.2 and Appendix D: a prompt and an attention head on worlds with memory."""

from minicosm.lab import Outcome

from ...common.checks import COUNTED, EXACT, TOLERANCE, Results, identity, never_close
from ...common.figures import identity_figure
from ..study import STUDY
from .checks import IDENTITY, PAPER, suite

PROMPTED = suite("prompted", factor=2)
POSITION = suite("prompted", "position")


@STUDY.claim(
    id="memory/theorem-d.6",
    title="A prompt relaxes recoverability to the memory values that matter",
    source=f"{PAPER}, Theorem D.6",
    statement=(
        "Under Assumptions D.5 and 4.4 the prompt u = 1(m_j* in supp(mu)) and an attention head give, "
        "for every x in R that leaves supp(mu) possible, "
        "mean_{i in I} G_i[x_i] mu.P[M_j*|x] / Pr(M_j* in supp(mu)|x), and 0 where x rules supp(mu) out. "
        "The prompt's own position is kept out by a position vector that outweighs every key."
    ),
    criterion=IDENTITY + " Assumption 4.2 fails on every world, so that the prompt is needed.",
    trials=PROMPTED,
    figure=identity_figure("suite", "theorem-d.6", TOLERANCE),
)
def theorem_d6(results: Results) -> Outcome:
    outcome = identity("theorem-d.6")(results)
    rows = results["suite"].numbers["theorem-d.6"]
    attended = sum(rows["prompt_attended"])
    right = all(rows["weaker"]) and attended == 0 and sum(rows["zero_targets_mislabelled"]) == 0
    return Outcome(
        outcome.verdict if right else "fails",
        {
            **outcome.numbers,
            "sequences that rule out supp(mu)": sum(rows["zero_targets"]),
            "largest output there": max(rows["zero_target_output"]),
            "prompt attended": attended,
        },
    )


STUDY.claim(
    id="memory/theorem-4.6",
    title="The same for one memory cell",
    source=f"{PAPER}, Theorem 4.6",
    statement="Theorem D.6 with one cell, under Assumptions 4.5 and 4.4.",
    criterion=IDENTITY,
    trials=PROMPTED,
    figure=identity_figure("suite", "theorem-4.6", TOLERANCE),
)(identity("theorem-4.6"))

STUDY.claim(
    id="memory/theorem-d.6-wider",
    title="Theorem D.6 holds on a larger set than R",
    source="refinement of Theorem D.6",
    statement=(
        "The identity of D.6 holds on every possible x for which some position after the prompt is sure "
        "given the prompt, which contains R."
    ),
    criterion=IDENTITY,
    trials=PROMPTED,
    figure=identity_figure("suite", "wider", TOLERANCE),
)(identity("wider"))


@STUDY.claim(
    id="memory/theorem-d.6-as-printed",
    title="The position vector -2 keeps attention off the prompt",
    source=f"{PAPER}, proof of Lemma D.9",
    statement="With beta_1 = (0,..,0,-2) the construction of Theorem D.6 gives the label of every x in R.",
    criterion=(
        "Fails if on all sequences of length 4 of one world some label in R is wrong with -2 and none "
        "with the safe value."
    ),
    trials=POSITION,
    expected="fails",
    erratum=(
        "Claim D.10 bounds the keys only after the prompt. Position 1 ignores the prompt, its output may "
        "leave the span the keys can read, and its score is unbounded: in a world of three states it is "
        "10.5 where the others are at most 1. The theorem survives with "
        "-(2 + max_z |(q^T Theta^K)_z|) in place of -2."
    ),
    corrected_by="memory/theorem-d.6",
)
def printed_beta(results: Results) -> Outcome:
    numbers = results["suite"].numbers
    wrong = {
        name: numbers[f"all-sequences-{name}"]["disagreements"][0] for name in ("printed", "safe")
    }
    one = {name: numbers[f"one-sequence-{name}"]["attended"][0] for name in ("printed", "safe")}
    shown = wrong["printed"] > 0 and wrong["safe"] == 0
    return Outcome(
        "fails" if shown else "holds",
        {
            "wrong labels with -2": wrong["printed"],
            "wrong labels with the safe value": wrong["safe"],
            "labels compared": numbers["all-sequences-printed"]["compared"][0],
            "regression world, attended with -2": str(one["printed"]),
            "attended with the safe value": str(one["safe"]),
            "score of position 1 there": numbers["one-sequence-printed"]["key_scores"][0][0],
        },
    )


@STUDY.claim(
    id="memory/lemma-d.9",
    title="The head attends to every sure position, and to those the prompt makes sure",
    source=f"{PAPER}, Lemma D.9, corrected",
    statement=(
        "I contains I^, and I is the set of positions after the prompt that are sure given the prompt "
        "and the rest."
    ),
    criterion=COUNTED + " Near ties within 1e-9 may be attended too.",
    trials=PROMPTED,
    kind="lemma",
)
def lemma_d9(results: Results) -> Outcome:
    outcome = identity("lemma-d.9", tolerance=0.0)(results)
    rows = results["suite"].numbers["lemma-d.9"]
    more = sum(rows["prompt_adds_sure_positions"])
    return Outcome(
        outcome.verdict, {**outcome.numbers, "sequences where I is larger than I^": more}
    )


@STUDY.claim(
    id="memory/lemma-d.9-as-printed",
    title="The head attends exactly to the positions sure without the prompt",
    source=f"{PAPER}, Lemma D.9",
    statement="I = I^ for every x of (D.7) with I^ nonempty.",
    criterion="Fails if some sequence of some world has I different from I^.",
    trials=PROMPTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "Only the inclusion holds: the prompt rules out memory values, which can shrink supports and "
        "make more positions sure. Those positions give the right value too."
    ),
    corrected_by="memory/lemma-d.9",
)
def lemma_d9_printed(results: Results) -> Outcome:
    rows = results["suite"].numbers["lemma-d.9"]
    different = sum(rows["printed"])
    return Outcome(
        "fails" if different else "holds",
        {"sequences with I different from I^": different, "sequences": sum(rows["sequences"])},
    )


LEMMAS = {
    "lemma-d.7": (
        "A prompt row is a fake token, with memory",
        "Lemma D.7",
        "tau_i(e^(x)) = P[M, H_i, X^_-i] of the world with a fake token emitted with probabilities u at "
        "position 1, and for i > 1 the output is its conditional law, zero if the context is impossible.",
        "Agreement with sums over configurations and hidden paths to 1e-9, for u with entries in {0,1} "
        "and between.",
        TOLERANCE,
    ),
    "proposition-d.8": (
        "A stationary start makes the law independent of the time",
        "Proposition D.8",
        "P[M, H_i, X_{i+1:i+t}] does not depend on i when p0 is stationary.",
        EXACT + " By sums over paths.",
        TOLERANCE,
    ),
    "claim-d.10": (
        "Keys and values read joint laws after the prompt",
        "Claim D.10",
        "Claim D.3 with the prompt, at positions i > 1 with a possible context.",
        EXACT,
        TOLERANCE,
    ),
    "proposition-d.11": (
        "The prompt leaves only the values that matter",
        "Proposition D.11",
        "For i > 1 the support of P[M_j*|X^_-i] lies in supp(mu).",
        COUNTED,
        0.0,
    ),
    "claim-d.12": (
        "The prompt only shrinks supports",
        "Claim D.12",
        "supp P[H_i|X^_-i] lies in supp P[H_{i-1}|X_-(i-1)].",
        COUNTED,
        0.0,
    ),
    "lemma-d.13": (
        "Values after the prompt",
        "Lemma D.13",
        "For i in I^ the value is mu.P[X^_i, M_j*|X^_-i], a positive multiple of mu.P[M_j*|x]; it is 0 at "
        "every i > 1 when (fake token, x) is impossible.",
        EXACT,
        TOLERANCE,
    ),
    "claim-d.14": (
        "The prompt divides the score by the chance of the fake token",
        "Claim D.14",
        "mu.P[M_j*|X^=x^] = mu.P[M_j*|x] / Pr(fake|x), and Pr(fake|x) = Pr(M_j* in supp(mu)|x).",
        EXACT,
        TOLERANCE,
    ),
    "claim-d.15": (
        "Where the prompt rules x out everything is zero",
        "Claim D.15",
        "If x is possible and (fake token, x) is not, mu.P[M_j*|x] = 0; impossible contexts give the zero "
        "vector.",
        EXACT,
        TOLERANCE,
    ),
}
for _id, (_title, _source, _statement, _criterion, _tolerance) in LEMMAS.items():
    STUDY.claim(
        id=f"memory/{_id}",
        title=_title,
        source=f"{PAPER}, {_source}",
        statement=_statement,
        criterion=_criterion,
        trials=PROMPTED,
        kind="lemma",
        figure=identity_figure("suite", _id, _tolerance) if _tolerance else None,
    )(identity(_id, tolerance=_tolerance))

STUDY.claim(
    id="memory/stationarity-removed",
    title="Stationarity can be removed",
    source=f"{PAPER}, remark before Assumption 4.4",
    statement=(
        "With an arbitrary start law the prompt u = 1(m_j* in supp(mu)) kappa p0/p1 restores the identity "
        "of Theorem D.6."
    ),
    criterion=IDENTITY,
    trials=PROMPTED,
    figure=identity_figure("suite", "not-stationary", TOLERANCE),
)(identity("not-stationary"))

STUDY.claim(
    id="memory/stationarity-needed",
    title="The 0/1 prompt works without a stationary start",
    source="converse to Theorem D.6",
    statement="The prompt of Theorem D.6 satisfies its identity for an arbitrary start law.",
    criterion="Fails if some world is off by more than 1e-3.",
    trials=PROMPTED,
    expected="fails",
)(never_close("not-stationary-printed", "error"))
