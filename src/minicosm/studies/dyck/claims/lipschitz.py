"""The inequalities that Theorem 2.2.3 rests on."""

from minicosm.lab import ProfileName, Trial

from ...common.checks import EXACT, both, identity
from ..study import STUDY
from .approximate import below

PAPER = "Wen et al. 2023"
NO_VIOLATION = "No violation on random inputs, rounding apart."


def inequalities(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.lipschitz import Inequalities, run

    trials, mlps = {"smoke": (200, 2), "laptop": (5000, 20), "paper": (100_000, 200)}[profile]
    return {"suite": Trial(run, Inequalities(seed, trials, mlps))}


def _inequality(name: str, title: str, statement: str, *, source: str = "") -> None:
    STUDY.claim(
        id=f"dyck/{name}",
        title=title,
        source=f"{PAPER}, {source or name.capitalize().replace('-', ' ')}",
        statement=statement,
        criterion=NO_VIOLATION,
        trials=inequalities,
        kind="lemma",
    )(below(name, "ratio"))


_inequality(
    "lemma-2.2.5",
    "How errors compose",
    "If f1, f2 approximate g1, g2 up to e1 |x|, e2 |x|, |g1(x)| <= l1 |x| and g2 is l2-Lipschitz, then "
    "f2 o f1 approximates g2 o g1 up to (l1 e2 + l2 e1 + e1 e2) |x|.",
    source="Lemma 2.2.5, as its proof has it",
)

STUDY.claim(
    id="dyck/lemma-2.2.5-as-printed",
    title="How errors compose, in the printed closed form",
    source=f"{PAPER}, Lemma 2.2.5",
    statement=(
        "The same with (l1 + e2) (l2 + e1) - l1 l2, that is l1 e1 + l2 e2 + e1 e2 (in the order of the "
        "corrected form)."
    ),
    criterion="Fails if some composition errs by more.",
    trials=inequalities,
    kind="lemma",
    expected="fails",
    erratum=(
        "The closed form pairs each error with its own function's constant. What the inner one errs is "
        "stretched by the outer one, and the outer one errs in proportion to the inner one's output."
    ),
    corrected_by="dyck/lemma-2.2.5",
)(below("lemma-2.2.5-printed", "ratio"))

_inequality(
    "lemma-2.2.6",
    "A pruned MLP of four layers approximates one of two",
    "If |W_1|, |W_2| <= 2 sqrt(2) and both halves of the pruned MLP err by at most eps/8 |x|, the whole "
    "errs by at most eps |x|.",
)

STUDY.claim(
    id="dyck/lemma-2.2.6-as-printed",
    title="The same with the printed ReLU at the end",
    source=f"{PAPER}, proof of Lemma 2.2.6",
    statement="relu(W_4 relu(W_3 .)), pruned, approximates x -> W_2 x.",
    criterion="Fails if some pruned MLP errs by more than eps |x|.",
    trials=inequalities,
    kind="lemma",
    expected="fails",
    erratum=(
        "The second half is printed with a ReLU around it. An MLP with it puts out nothing negative, "
        "and its target does; the network of the lemma has none there."
    ),
    corrected_by="dyck/lemma-2.2.6",
)(below("lemma-2.2.6-printed", "ratio"))

_inequality(
    "lemma-2.2.8",
    "How far a softmax moves",
    "|softmax(x) - softmax(y)|_1 <= exp(2 |x - y|_inf) - 1.",
)
_inequality(
    "lemma-2.2.10",
    "The norm of the theory is Lipschitz",
    "|LN_C(x) - LN_C(y)| <= 2 |x - y| / C.",
)

STUDY.claim(
    id="dyck/lemma-2.2.11",
    title="How errors of weights and of values mix",
    source=f"{PAPER}, Lemma 2.2.11",
    statement=(
        "If the columns of A are laws within e1 of softmax(x^T Q x) in 1-norm and those of B within e2 of "
        "P x, then |B A - P x softmax(x^T Q x)|_{1,2} <= e1 |P x|_{1,2} + e2, and 2/C times that after "
        "LN_C."
    ),
    criterion=NO_VIOLATION,
    trials=inequalities,
    kind="lemma",
)(both(below("lemma-2.2.11", "ratio"), below("lemma-2.2.11-norm", "ratio")))

STUDY.claim(
    id="dyck/lemma-2.2.12",
    title="The norm of a padded vector",
    source=f"{PAPER}, Lemma 2.2.12",
    statement="LN_C([P x; 0]) = [LN_C(x); 0] for every number of zeros.",
    criterion=EXACT,
    trials=inequalities,
    kind="lemma",
)(identity("lemma-2.2.12"))

STUDY.claim(
    id="dyck/lemma-2.2.13",
    title="Attention is Lipschitz on bounded inputs",
    source=f"{PAPER}, Lemma 2.2.13, and with the smaller constant that its proof gives",
    statement=(
        "With matrices of norm at most 1 and |X|_{1,2} <= 4L the attention module is 200 L^2/C-Lipschitz "
        "in the norm |.|_{1,2}, and even 130 L^2/C-Lipschitz."
    ),
    criterion=NO_VIOLATION,
    trials=inequalities,
    kind="lemma",
)(both(below("lemma-2.2.13-130", "ratio"), below("lemma-2.2.13-200", "ratio")))
