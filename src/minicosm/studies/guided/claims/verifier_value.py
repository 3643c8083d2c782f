"""What a process verifier buys (Propositions 3.1.1 and 3.1.2, Algorithm 1)."""

from minicosm.lab import Outcome

from ...common.checks import Results, identity
from ..study import STUDY
from .exact_trials import IDENTITY, PAPER, TOLERANCE, at_least, constraints, rows, table, verdict


@STUDY.claim(
    id="guided/proposition-3.1.1",
    title="A needle in a haystack: 2^D D calls without a verifier, 2 D with it",
    source=f"{PAPER}, Proposition 3.1.1; restarts added",
    statement=(
        "If A is one string of D fair bits, rejection takes D 2^D expected calls, tokenwise "
        "rejection with the perfect verifier 2 D, and starting over at the first rejected token "
        "2^(D+1) - 2."
    ),
    criterion=(
        f"The three costs, by dynamic programming, differ from these by at most {TOLERANCE:g} "
        f"relatively."
    ),
    trials=constraints,
)
def needle(results: Results) -> Outcome:
    found = rows(results, "proposition-3.1.1")
    worst = max(found["error"])
    columns = {name: found[name] for name in ("D", "rejection", "restart", "tokenwise")}
    return Outcome(
        "holds" if worst <= TOLERANCE else "fails",
        {"largest relative error": worst},
        (table("expected calls", columns),),
    )


STUDY.claim(
    id="guided/tokenwise-range",
    title="With uniform bits tokenwise rejection costs between D and 2 D",
    source=f"added to {PAPER}, Proposition 3.1.1",
    statement="For every solvable knapsack the expected calls of tokenwise rejection lie in [D, 2 D].",
    criterion=f"No instance is outside by more than {TOLERANCE:g}.",
    trials=constraints,
    kind="lemma",
)(at_least("tokenwise-range"))


@STUDY.claim(
    id="guided/knapsack-reference",
    title="Twelve weights, by all samplers",
    source=f"added to {PAPER}, Theorem 3.1.2",
    statement=(
        "For weights 1..12 and target 39 there are 124 solutions; rejection takes 396.387 expected "
        "calls, tokenwise rejection 17.234375, and its output is at total variation 0.196573 from "
        "uniform."
    ),
    criterion="Each number agrees to the digits given.",
    trials=constraints,
    kind="lemma",
)
def reference(results: Results) -> Outcome:
    found = {name: values[0] for name, values in rows(results, "knapsack-reference").items()}
    holds = (
        found["solutions"] == 124
        and abs(found["rejection"] - 396.387) < 5e-4
        and abs(found["tokenwise"] - 17.234375) < 1e-9
        and abs(found["tv"] - 0.196573) < 5e-7
    )
    return Outcome("holds" if holds else "fails", found)


@STUDY.claim(
    id="guided/proposition-3.1.2-as-printed",
    title="Every other string has probability 2^-D under tokenwise rejection",
    source=f"{PAPER}, proof of Proposition 3.1.2",
    statement=(
        "With A all strings of D bits but 1...1, tokenwise rejection gives 1...10 the probability "
        "2^-(D-1) and every other string of {0,1}^D the probability 2^-D, and for every D this is "
        "not the uniform law on A."
    ),
    criterion="Fails if some other string has another probability, or if for some D the law is uniform on A.",
    trials=constraints,
    kind="lemma",
    expected="fails",
    erratum="The string 1...1 is not in A and has probability zero; and for D = 1 the law is the wanted one.",
    corrected_by="guided/proposition-3.1.2",
)
def some_zero_printed(results: Results) -> Outcome:
    found = rows(results, "proposition-3.1.2")
    wrong = [p != 2.0**-D for p, D in zip(found["all_ones"], found["D"], strict=True)]
    return verdict(
        not any(wrong) and min(found["tv"]) > TOLERANCE,
        probability_of_all_ones=max(found["all_ones"]),
        total_variation_for_one_bit=found["tv"][0],
    )


@STUDY.claim(
    id="guided/proposition-3.1.2",
    title="Tokenwise rejection does not sample the restricted law",
    source=f"{PAPER}, Proposition 3.1.2, with its distance",
    statement=(
        "With A all strings but 1...1 and D >= 2, tokenwise rejection gives 1...10 the probability "
        "2^-(D-1) and every other string of A the probability 2^-D; its total variation from "
        "uniform on A is (2^D - 2) / (2^D (2^D - 1)), zero only for D = 1."
    ),
    criterion="Law and distance agree to 1e-12 for D = 1..8.",
    trials=constraints,
)
def some_zero(results: Results) -> Outcome:
    found = rows(results, "proposition-3.1.2")
    worst = max(*found["error"], *found["tv_error"])
    positive = all(tv > 0 for tv, D in zip(found["tv"], found["D"], strict=True) if D >= 2)
    return Outcome(
        "holds" if worst <= 1e-12 and positive else "fails",
        {
            "largest error": worst,
            "distance at D = 2": found["tv"][1],
            "distance at D = 6": found["tv"][5],
        },
    )


STUDY.claim(
    id="guided/lagged-error",
    title="Backtracking helps iff it reaches back behind the mistake",
    source=f"added to {PAPER}, Algorithm 1",
    statement=(
        "If a mistake of probability d is noticed L tokens later, Algorithm 1 is right with "
        "probability 1 - d for strides B <= L. For B > L and any quota it is always right with D + "
        "B d expected calls with the argmax refill, and right with probability 1 - d^(Q+1) without "
        "refill."
    ),
    criterion=IDENTITY,
    trials=constraints,
    kind="lemma",
)(identity("lagged"))
