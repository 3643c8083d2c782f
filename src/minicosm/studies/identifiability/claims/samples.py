"""Finite samples and trained models (ours: the source makes no claims on them)."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_above,
    all_below,
    all_of,
    all_within,
    at_most,
    only_if,
    worst,
)

from ..figures.recovery import language_model_figure, recovery_figure
from ..readings import orders, share, slopes
from ..study import STUDY, THESIS
from ..trials import counting, language_model, language_model_samples, twin_data

claim = STUDY.section(__doc__)


@claim(
    id="identifiability/twins-in-data",
    title="Counts of pairs never tell the twins apart, counts of triples soon do",
    source=f"added to {THESIS}, Theorems 6 and 7",
    statement=(
        "For the two worlds that agree on all pairs, the likelihood ratio of any counts of pairs is one; "
        "that of 1000 triples picks the right world."
    ),
    criterion=(
        "The largest log likelihood ratio by pairs is below $10^{-9}$, and the lower end of Wilson's 95% "
        "interval of how often triples are right is above 0.95, whichever twin is true."
    ),
    trials=twin_data,
    uses=("identifiability/theorem-6",),
    kind="experiment",
)
def twins_in_data(results: Results) -> Outcome:
    found = results["data"]
    shares = {
        f"{name} world true": share(right, found.config.sets)
        for name, right in zip(("first", "second"), found.numbers["right"], strict=True)
    }
    return all_of(
        at_most("log likelihood ratio by pairs", found.numbers["pairs"], 1e-9),
        all_above("right by triples", shares, 0.95),
    )


@claim(
    id="identifiability/sample-recovery",
    title="Recovery from counts improves as the root of their number",
    source=f"added to {THESIS}, Section 2.2.5",
    statement=(
        r"Simultaneous diagonalisation of a counted predictor of two tokens, $x_2 \otimes x_3 | x_1$ or "
        r"$x_1 \otimes x_3 | x_2$, recovers the parameters with an error that falls about as $n^{-1/2}$."
    ),
    criterion=(
        "For both tasks the 95% interval of the slope of log distance on log $n$ between $10^5$ and "
        "$10^7$ lies within $[-0.65, -0.30]$, and the mean distance at $10^7$ is below 0.03. Undecided "
        "where $n$ does not reach $10^7$."
    ),
    trials=counting,
    figure=recovery_figure,
    kind="experiment",
)
def sample_recovery(results: Results) -> Outcome:
    found = results["counting"]
    sizes, distances = found.config.sizes, found.arrays["distances"]
    tasks = found.numbers["tasks"]
    rates = {task: slopes(distances[t], sizes, 10**5, 10**7) for t, task in enumerate(tasks)}
    last = 10**7
    if last not in sizes:
        outcome = all_within("slope", rates, 0.175, -0.475)
        return only_if(False, "There are no samples of ten million.", outcome)
    means = {task: distances[t][:, sizes.index(last)].mean() for t, task in enumerate(tasks)}
    return all_of(
        all_within("slope", rates, 0.175, -0.475),
        *(at_most(f"mean distance, {task}", mean, 0.03) for task, mean in means.items()),
    )


@claim(
    id="identifiability/language-model",
    title="A language model contains the HMM",
    source=f"added to {THESIS}, Theorem 7",
    statement=(
        "A causal Transformer that is trained to predict the next token of an HMM answers contexts of one "
        "and two tokens "
        r"with $P(b | a)$ and $P(c | a, b)$; the tensor decomposition of their products gives $O$ and $T$."
    ),
    criterion=(
        "Trained on exact targets, the 95% interval of the mean $\\log_{10}$ distance over worlds lies "
        "below $-2$. Undecided if the excess loss of a model is not below $10^{-5}$."
    ),
    trials=language_model,
    uses=("identifiability/causal-identifies",),
    figure=language_model_figure,
    kind="experiment",
)
def contains(results: Results) -> Outcome:
    found = results["models"].numbers
    outcome = all_of(
        all_below("log10 distance", Estimate.of(orders(found["distance"])), -2.0),
        numbers={"largest excess loss": worst(found["excess"]), "models": len(found["excess"])},
    )
    learned = worst(found["excess"]) < 1e-5
    return only_if(learned, "A model has not learned its world.", outcome)


@claim(
    id="identifiability/language-model-samples",
    title="So does one that is trained on samples",
    source=f"added to {THESIS}, Theorem 7",
    statement=(
        "Trained on about a million sampled tokens in place of exact targets, the model still gives the "
        "parameters to about a tenth."
    ),
    criterion=(
        "The 95% interval of the mean distance over worlds lies below 0.12. Undecided if the excess loss "
        "of a model is not below 0.002."
    ),
    trials=language_model_samples,
    uses=("identifiability/language-model",),
    figure=language_model_figure,
    kind="experiment",
)
def contains_samples(results: Results) -> Outcome:
    found = results["models"].numbers
    outcome = all_of(
        all_below("distance", Estimate.of(found["distance"]), 0.12),
        numbers={"largest excess loss": worst(found["excess"]), "models": len(found["excess"])},
    )
    learned = worst(found["excess"]) < 2e-3
    return only_if(learned, "A model has not learned its world.", outcome)
