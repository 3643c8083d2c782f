"""The study's name and source."""

from minicosm.lab import Study

STUDY = Study(
    name="dyck",
    title="Bounded Dyck languages: balanced attention, and what looking at attention misses",
    source=(
        "K. Wen, Y. Li, B. Liu, A. Risteski: Transformers are uninterpretable with myopic methods: a "
        "case study with bounded Dyck grammars. NeurIPS 2023; in the fuller text of two theses"
    ),
    about=(
        "Strings of nested brackets with a bounded depth, whose next-token law is known exactly. Which "
        "attention patterns can a Transformer have that predicts it perfectly at every length? Those "
        "that are balanced: one linear condition, which leaves uniform and random attention open. "
        "Every statement is run as an explicit model in double precision, beside those that are wrong "
        "as printed; small Transformers are trained to see how their attention differs from seed to "
        "seed and how balance goes with length generalisation."
    ),
)
