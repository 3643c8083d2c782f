"""Constrained generation without a verifier is hard (Theorems 3.1.1 and 3.1.2)."""

from minicosm.lab import Outcome

from ...common.checks import Results, identity
from ..study import STUDY
from .exact_trials import IDENTITY, PAPER, constraints, rows, table, verdict


@STUDY.claim(
    id="guided/theorem-3.1.1-as-printed",
    title="Finding a hidden parity takes 2^(D-1) queries",
    source=f"{PAPER}, Theorem 3.1.1",
    statement=(
        "In the secret-parity world every algorithm, randomised or not, needs at least 2^(D-1) expected "
        "queries on some secret."
    ),
    criterion=(
        "Fails if for some D the expected queries of a search in random order are fewer, for every "
        "secret."
    ),
    trials=constraints,
    expected="fails",
    erratum=(
        "On average the secret stands in the middle of a random order, and the last candidate need not be "
        "asked about: (N + 1)/2 - 1/N queries for N = 2^(D-1). The last place is the worst case of a "
        "deterministic order only. The order of growth is right."
    ),
    corrected_by="guided/theorem-3.1.1",
)
def printed_constant(results: Results) -> Outcome:
    found = rows(results, "theorem-3.1.1")
    met = [
        exact >= printed for exact, printed in zip(found["exact"], found["printed"], strict=True)
    ]
    return verdict(
        all(met),
        printed=found["printed"][-1],
        random_order=found["exact"][-1],
        simulated=found["mean"][-1],
        bits=found["D"][-1],
    )


@STUDY.claim(
    id="guided/theorem-3.1.1",
    title="Finding a hidden parity takes half of 2^(D-1) queries",
    source=f"{PAPER}, Theorem 3.1.1, with its constant",
    statement=(
        "With N = 2^(D-1) secrets the least worst-case expected number of queries is (N + 1)/2 - "
        "1/N: a search in random order attains it for every secret, and no search does better."
    ),
    criterion=(
        "The optimum by recursion equals the formula exactly, and the simulated mean is within 3 standard "
        "errors of it for D = 1, 2, 3, 5, 8."
    ),
    trials=constraints,
)
def constant(results: Results) -> Outcome:
    found = rows(results, "theorem-3.1.1")
    off = [
        abs(mean - exact) / max(error, 1e-12)
        for mean, exact, error in zip(found["mean"], found["exact"], found["error"], strict=True)
        if error > 0 or mean != exact
    ]
    holds = found["fewest"] == found["exact"] and max(off, default=0) <= 3
    columns = {
        "D": found["D"], "printed": found["printed"], "exact": found["exact"],
        "simulated": found["mean"], "standard error": found["error"],
    }  # fmt: skip
    return Outcome(
        "holds" if holds else "fails",
        {"largest distance in standard errors": max(off, default=0.0)},
        (table("expected queries", columns),),
    )


STUDY.claim(
    id="guided/short-queries-tell-nothing",
    title="Short prefixes tell nothing about the secret",
    source=f"{PAPER}, proof of Theorem 3.1.1",
    statement="Answers to queries of fewer than D - 1 bits have the same law for every secret.",
    criterion=IDENTITY,
    trials=constraints,
    kind="lemma",
)(identity("uninformative"))


@STUDY.claim(
    id="guided/verifier-calls-as-printed",
    title="A perfect process verifier solves the task in |Σ| D calls",
    source=f"{PAPER}, remark behind Proposition 3.1.1, with Definition 3.1.3",
    statement=(
        "Trying every token and keeping the first one that the process verifier accepts solves constrained "
        "generation, where the verifier accepts a prefix iff some completion lies in A."
    ),
    criterion="Fails if for some secret the string found is not the one of positive probability in A.",
    trials=constraints,
    kind="lemma",
    expected="fails",
    erratum=(
        "Definition 3.1.3 ignores the generator: with secret parity this verifier accepts every "
        "prefix, so the string found has probability zero unless the secret happens to be all "
        "zeros, and rejection token by token waits forever for a token of probability zero. And the "
        "calls are calls to the verifier."
    ),
    corrected_by="guided/verifier-calls",
)
def literal_verifier(results: Results) -> Outcome:
    found = rows(results, "parity-verifiers")
    return verdict(
        all(found["literal_solved"]),
        secrets=len(found["D"]),
        solved=sum(found["literal_solved"]),
        accepts_every_prefix=all(found["literal_constant"]),
        largest_probability_to_get_stuck=max(found["stuck"]),
    )


@STUDY.claim(
    id="guided/verifier-calls",
    title="A process verifier that knows the generator solves the task without it",
    source=f"{PAPER}, remark behind Proposition 3.1.1, corrected",
    statement=(
        "If the verifier accepts a prefix iff some completion lies in A and has positive "
        "probability, trying tokens in order finds such a string with at most |Σ| D calls to the "
        "verifier and none to the generator."
    ),
    criterion="The string is right for every secret and takes at most 2 D calls.",
    trials=constraints,
    kind="lemma",
)
def oracle_verifier(results: Results) -> Outcome:
    found = rows(results, "parity-verifiers")
    within = all(calls <= 2 * D for calls, D in zip(found["calls"], found["D"], strict=True))
    return verdict(
        all(found["solved"]) and within,
        secrets=len(found["D"]),
        most_verifier_calls=max(found["calls"]),
    )


@STUDY.claim(
    id="guided/theorem-3.1.2",
    title="A solver of constrained generation solves knapsack",
    source=f"{PAPER}, Theorem 3.1.2",
    statement=(
        "For uniform bits and A the solutions of a knapsack instance, a sampler with a perfect "
        "process verifier returns a solution iff there is one; membership in A is a sum."
    ),
    criterion=(
        "Right on every instance, zero weights, c = 0 and unreachable targets included, against the "
        "enumeration of all 2^D choices. Hardness itself cannot be tested."
    ),
    trials=constraints,
)
def knapsack(results: Results) -> Outcome:
    found = rows(results, "theorem-3.1.2")
    solvable = [s > 0 for s in found["solutions"]]
    ratio = [
        r / t for r, t, s in zip(found["rejection"], found["tokenwise"], solvable, strict=True) if s
    ]
    return verdict(
        all(found["right"]),
        instances=len(solvable),
        solvable=sum(solvable),
        largest_calls_of_rejection_over_tokenwise=max(ratio),
    )


@STUDY.claim(
    id="guided/superincreasing",
    title="Superincreasing knapsacks are solved greedily",
    source=f"{PAPER}, Section 3.5.1, with the strict inequality",
    statement=(
        "If every weight exceeds the sum of those before it, taking from the largest down what still fits "
        "decides the instance, and there is at most one solution."
    ),
    criterion="Right on every instance, against exact counting.",
    trials=constraints,
    kind="lemma",
)
def superincreasing(results: Results) -> Outcome:
    right = rows(results, "superincreasing")["right"]
    return verdict(all(right), instances=len(right))
