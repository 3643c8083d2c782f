"""The study: its source, its main findings, and the slips of the source that its context puts right."""

from minicosm.lab import Study

PAPER = "Wei, Xie, Ma 2021"

STUDY = Study(
    name="tuning",
    title="Why tuning a head or a prompt on a language model works",
    source=(
        "C. Wei, S. M. Xie, T. Ma: Why Do Pretrained Language Models Help in Downstream Tasks? "
        "An Analysis of Head and Prompt Tuning. NeurIPS 2021"
    ),
    about=(
        "Text comes from a hidden Markov world; a label is a linear function of the exact posterior "
        "of a hidden variable; the model outputs exact conditionals and is frozen. When does a head "
        "on its outputs, with a soft prompt or without, compute the label? Every statement of the "
        "paper is run on random worlds in double precision, and the paper's experiments are run on the "
        "exact model and on pretrained Transformers, with the controls they need."
    ),
    headlines=(
        "tuning/theorem-3.3",
        "tuning/theorem-3.6",
        "tuning/theorem-4.3",
        "tuning/exact-prompt-beats-head-everywhere",
        "tuning/five-tokens",
    ),
    misprints=(
        "Proof of Theorem 3.3: $W$ has a left inverse if it has full column rank (printed: row rank), "
        "which is what Assumption 3.1 says.",
        r"Proof of Theorem 3.6: the left inverse on $\mathcal{H}^\star$ gives $\widehat W^\dagger W D v = D "
        "v$ (printed: $W D v$).",
    ),
    aliases=("head-and-prompt-tuning",),
)

EXACT = "The largest error over all worlds and sequences is at most $10^{-9}$."
COUNTED = "No violation on any world, decided on truth values."
IDENTITY = (
    "On every world the identity holds to $10^{-9}$ (relative to the head's largest weight) on every "
    "sequence in scope, and no label differs where the exact score is above $10^{-9}$ in size."
)
