"""Exact models, and what their proofs print (Sections 2.2.2, 2.2.5)."""

from minicosm.lab import Outcome, Table

from ...common.checks import TOLERANCE, Results, always, both, identity, never_close
from ..figures import theory as figures
from ..study import STUDY
from .theory_trials import EXACT, PAPER, ROUNDING, rows, suite, verdict

MODELS = suite("constructions")
PRINTED = suite("constructions", "printed")

STUDY.claim(
    id="dyck/theorem-2.2.1-sufficiency",
    title="Every balanced attention matrix belongs to an exact model",
    source=f"{PAPER}, Theorem 2.2.1 (sufficiency)",
    statement=(
        "If the embeddings of all brackets with depths and of the start token are linearly independent and M "
        "is balanced, some values W_V and an MLP of six layers make one layer output the next-token "
        "probabilities of every prefix of any length: with uniform attention, with random balanced "
        "attention, with one-hot and with random embeddings."
    ),
    criterion=EXACT,
    trials=MODELS,
    figure=figures.lengths,
)(identity("sufficiency", tolerance=ROUNDING))

STUDY.claim(
    id="dyck/theorem-2.2.1-sizes",
    title="The same for other numbers of types and depths",
    source=f"{PAPER}, Theorem 2.2.1 (sufficiency)",
    statement=(
        "The construction is exact for other types and depths too, also for one type and for depth one, "
        "where every M is balanced."
    ),
    criterion=EXACT,
    trials=MODELS,
)(identity("sizes", tolerance=ROUNDING))


@STUDY.claim(
    id="dyck/mlp-width",
    title="The MLP has width O(k^2 D^2)",
    source=f"{PAPER}, Theorem 2.2.1 (sufficiency)",
    statement="The widest of the three stages of the MLP has at most 2 (kD)^2 units.",
    criterion="The largest width divided by (kD)^2 is at most 2 for (k, D) = (2, 4), (3, 4) and (2, 8).",
    trials=PRINTED,
    kind="lemma",
)
def width(results: Results) -> Outcome:
    found = rows(results, "widths")
    table = Table(
        "units per stage",
        ("types", "depth", "stage 1", "stage 2", "stage 3"),
        tuple(
            (k, D, *widths)
            for k, D, widths in zip(found["types"], found["depth"], found["widths"], strict=True)
        ),
    )
    worst = max(found["share"])
    return Outcome("holds" if worst <= 2 else "fails", {"largest share of (kD)^2": worst}, (table,))


@STUDY.claim(
    id="dyck/residual-leak-as-printed",
    title="Directions orthogonal to ones and v show the stack",
    source=f"{PAPER}, proof of Theorem 2.2.1 (sufficiency)",
    statement=(
        "With b_n orthogonal to the vector of ones and to v only, the coordinate <b_n, LN(a) + x> of a "
        "bracket that is not on the stack is zero, and the model is exact."
    ),
    criterion="Fails if a model built so is off by more than 1e-3 on some prefix.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "x is the embedding of the last token and has components along the b_n. They must also be orthogonal "
        "to the embeddings of closed brackets of positive depth; 2kD + 1 dimensions still suffice."
    ),
    corrected_by="dyck/residual-leak",
)
def leak_printed(results: Results) -> Outcome:
    found = rows(results, "leak-printed")
    return verdict(
        max(found["error"]) <= 1e-3,
        largest_error=max(found["error"]),
        largest_leak=max(found["leak"]),
        smallest_leak_of_a_draw=min(found["leak"]),
        largest_threshold=max(found["threshold"]),
    )


STUDY.claim(
    id="dyck/residual-leak",
    title="With the additional orthogonality nothing leaks and the model is exact",
    source=f"corrects {PAPER}, proof of Theorem 2.2.1 (sufficiency)",
    statement=(
        "With b_n orthogonal also to the embeddings of closed brackets of positive depth, in 2kD + 1 "
        "dimensions with Gaussian embeddings, no coordinate leaks and predictions are exact."
    ),
    criterion=f"{EXACT} The largest leak is at most {TOLERANCE:g}.",
    trials=PRINTED,
    kind="lemma",
)(both(identity("leak", tolerance=ROUNDING), identity("leak", column="leak")))


@STUDY.claim(
    id="dyck/index-as-printed",
    title="Read-out index tD + d lies in 1..kD",
    source=f"{PAPER}, Equation 2.63",
    statement="For t in 1..k and d in 1..D the index tD + d is one of the kD rows of the read-out U'.",
    criterion="Fails if some index lies outside.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum="The index is off by D: it has to be (t - 1) D + d. As printed the last type has no row.",
    corrected_by="dyck/theorem-2.2.1-sufficiency",
)
def index(results: Results) -> Outcome:
    outside = rows(results, "index-printed")["outside"]
    return verdict(not any(outside), brackets_without_a_row=max(outside))


@STUDY.claim(
    id="dyck/independence-as-printed",
    title="Independence at each depth is enough",
    source=f"{PAPER}, Theorem 2.2.1 (sufficiency)",
    statement=(
        "If at every depth the 2k + 1 embeddings of brackets and start token are linearly independent and M "
        "is balanced, some values and MLP predict exactly."
    ),
    criterion=(
        "Fails if there are such embeddings and two prefixes with different laws whose inputs to the MLP "
        "agree to 1e-12 for random balanced M and random values."
    ),
    trials=PRINTED,
    expected="fails",
    erratum=(
        "The proof inverts the matrix of all 2kD + 1 embeddings. One-hot tokens without the depth are "
        "independent at each depth, but ([() and [(() hold the same brackets and end alike: no attention "
        "without positions tells them apart, and one is closed by ], the other by )."
    ),
    corrected_by="dyck/theorem-2.2.1-sufficiency",
)
def independence(results: Results) -> Outcome:
    found = rows(results, "independence-printed")
    met = found["rank"] == found["wanted"] and max(found["unbalanced"]) <= TOLERANCE
    shown = met and max(found["separation"]) <= 1e-12 and min(found["laws"]) > 0.1
    return verdict(
        not shown, distance_of_inputs=max(found["separation"]), distance_of_laws=min(found["laws"])
    )


# -- embeddings -----------------------------------------------------------------------------------


@STUDY.claim(
    id="dyck/onehot-as-printed",
    title="Embedding 2.55 is one-to-one",
    source=f"{PAPER}, Equations 2.55 and 2.56",
    statement=(
        "The one-hot vectors number (t - 1) D + d are different for different brackets and depths, and D "
        "slots hold all depths."
    ),
    criterion="Fails if two brackets with depths share a vector.",
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "A closed bracket of depth 0 gets the vector of the open one of its type at depth D: closed depths "
        "begin at 0. Equation 2.56 lacks the slot for depth 0, and none of 2.55 to 2.57 has a start token."
    ),
    corrected_by="dyck/embeddings",
)
def onehot(results: Results) -> Outcome:
    found = rows(results, "onehot-printed")
    return verdict(
        not any(found["collisions"]),
        collisions_in_the_default_world=found["collisions"][0],
        depths=found["slots"][0],
        printed_slots_for_depths=found["printed_slots"][0],
    )


STUDY.claim(
    id="dyck/embeddings",
    title="The three embeddings, with depth 0 and a start token",
    source=f"corrects {PAPER}, Equations 2.55 to 2.57",
    statement=(
        "All rows differ; over brackets with depths the ranks are 2kD, 2k + D and 2k + 2, so that only the "
        "first satisfies Theorem 2.2.1."
    ),
    criterion="Rows are distinct and the ranks are these in every world.",
    trials=PRINTED,
    kind="lemma",
)(always("ranks"))

# -- Corollary 2.2.1 and other constructions ------------------------------------------------------

STUDY.claim(
    id="dyck/corollary-2.2.1",
    title="Uniform attention in both layers predicts exactly",
    source=f"{PAPER}, Corollary 2.2.1",
    statement=(
        "A Transformer that reads tokens behind a start token, without positions and with uniform causal "
        "attention in both layers, outputs the next-token probabilities at every length."
    ),
    criterion=EXACT,
    trials=MODELS,
    figure=figures.lengths,
)(both(identity("corollary", tolerance=ROUNDING), identity("corollary-sizes", tolerance=ROUNDING)))


@STUDY.claim(
    id="dyck/corollary-2.2.1-first-layer",
    title="A first layer of uniform attention computes the depth",
    source=f"{PAPER}, proof of Corollary 2.2.1",
    statement=(
        "The average of +1, -1 and the start token's slot is (depth, 1, 0, ...) / (n + 1); its norm beside "
        "the token tells brackets with depths apart (distance 0.086 in 2k + 1 dimensions), and an MLP turns "
        "it into their one-hot vectors."
    ),
    criterion=f"Embeddings and uniform attention to {TOLERANCE:g}; the distance to the digits given.",
    trials=MODELS,
    kind="lemma",
)
def first_layer(results: Results) -> Outcome:
    found, distance = rows(results, "first-layer"), rows(results, "first-layer-points")["distance"]
    worst = max(*found["error"], *found["attention"])
    return verdict(
        worst <= TOLERANCE and abs(distance[0] - 0.086) <= 5e-4 and distance[1] > 0.01,
        largest_error=worst,
        least_distance=distance[0],
        least_distance_in_the_width_of_the_model=distance[1],
    )


STUDY.claim(
    id="dyck/counts-as-printed",
    title="Uniform attention counts tokens",
    source=f"{PAPER}, Equation 2.70",
    statement="Uniform attention over one-hot tokens gives the number of tokens of each kind so far.",
    criterion="Fails if it is off by more than 1e-3 on some string.",
    trials=MODELS,
    kind="lemma",
    expected="fails",
    erratum="Attention averages: the counts are divided by n + 1, a factor that only the norm removes.",
    corrected_by="dyck/corollary-2.2.1-first-layer",
)(never_close("first-layer", "printed_sum"))

STUDY.claim(
    id="dyck/identity-layers",
    title="Further layers may do nothing",
    source=f"{PAPER}, Section 2.2.5.2",
    statement="Layers with values zero and an MLP that is the identity leave exact models exact.",
    criterion=EXACT,
    trials=MODELS,
    kind="lemma",
)(identity("identity-layers", tolerance=ROUNDING))


@STUDY.claim(
    id="dyck/geometric",
    title="Independent embeddings are not necessary to read the stack",
    source=f"added to {PAPER}, Theorem 2.2.1",
    statement=(
        "With the additive embedding of token and depth, whose vectors are dependent, the balanced logit "
        "d ln rho of the key's depth and values x_t, -rho x_t give sum_s rho^s x_(type at depth s), whose "
        "largest entry is the type on top for every rho >= 2 and every length."
    ),
    criterion="No wrong argmax at any position with an open bracket, rho = 2 and 3.",
    trials=MODELS,
)
def geometric(results: Results) -> Outcome:
    found = rows(results, "geometric")
    holds = sum(found["error"]) == 0 and max(found["unbalanced"]) <= TOLERANCE
    return verdict(
        holds and min(found["rank_missing"]) > 0,
        wrong=sum(found["error"]),
        queries=sum(found["sequences"]),
        smallest_margin=min(found["margin"]),
    )
