"""Text with overlapping topics, and a user's own: Sections 2.1.5.4 and 2.1.6.2."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    agrees,
    all_above,
    all_of,
    all_within,
)

from ..figures.text import draw_cooccurrence, draw_nine, draw_pairs
from ..readings import (
    differences,
    if_text_learned,
    named,
    pairs,
    ratios,
    sizes,
)
from ..study import STUDY, THESIS
from ..trials import corpus, texts

claim = STUDY.section(__doc__)

FIT = "Topics are fitted by scikit-learn, which is not installed: set it up by pip install minicosm[topics]."
GIVE = (
    "No corpus was given: set corpus to a folder of .txt files with a topics.txt, or to a Parquet file with "
    "the columns tokens and topics."
)


def _undecided(remark: str) -> Outcome:
    return all_of(numbers={"models": 0}, remark=remark)


def _table(results: Results, first: str, second: str, model: str = "trained") -> Table:
    lines: list[tuple[Any, ...]] = []
    for size in sizes(results):
        line: list[Any] = [size]
        for measure in ("cosine", "inner", "attention"):
            line += [
                Estimate.of(pairs(results, size, kind, measure, model)) for kind in (first, second)
            ]
        lines.append(tuple(line))
    columns = ("words of a topic", *(f"{m}, {k}" for m in ("cosine", "inner product", "attention")
                                     for k in (first, second)))  # fmt: skip
    return Table(f"means over pairs of words, {model}", columns, tuple(lines))


@claim(
    id="topics/table-2.3-embeddings",
    title="On text, words of one topic have more similar embeddings",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.3",
    statement=(
        "In models trained on text, with topics fitted by LDA and one topic for each word, different words "
        "of one topic have a larger cosine similarity than words of different topics."
    ),
    criterion=(
        "The 95% interval of the difference of mean cosines lies above 0 for topics of 4, 8 and 16 words. "
        "Undecided if a model is less than 0.4 nats below the entropy of words."
    ),
    trials=texts,
    figure=draw_pairs,
    kind="figure",
    uses=("topics/theorem-2.1.1",),
)
def table_2_3_embeddings(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    found = [r.numbers["topics found"] for r in results.values()]
    outcome = all_of(
        all_above(
            "cosine of the same topic less different",
            differences(results, "same", "different", "cosine"),
        ),
        numbers={"overlap of fitted with true topics": Estimate.of(found)},
        tables=(_table(results, "same", "different"),),
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/table-2.3-attention",
    title="On text, words of one topic attend more to each other",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.3",
    statement=(
        "In the same models attention between different words of one topic, debiased by length, is larger "
        "than between words of different topics."
    ),
    criterion=(
        "The 95% interval of the ratio lies above 1 for topics of 4, 8 and 16 words. Undecided if a model is "
        "less than 0.4 nats below the entropy of words."
    ),
    trials=texts,
    figure=draw_pairs,
    kind="figure",
    uses=("topics/theorem-2.1.3", "topics/debiasing"),
)
def table_2_3_attention(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    outcome = all_of(
        all_above(
            "attention, same over different",
            named(ratios(results, "same", "different", "attention")),
            1.0,
        ),
        tables=(_table(results, "same", "different"),),
        remark="Printed ratios of five pretrained models are 1.22 to 2.14.",
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/table-2.3-untrained",
    title="An untrained model shows neither",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.3",
    statement=(
        "In a randomly initialised model the ratios of same-topic to different-topic pairs are about 1."
    ),
    criterion=(
        "The 95% intervals of the ratio of attention lie within 0.01 of 1, and those of the difference of "
        "mean cosines within 0.05 of 0, for topics of 4, 8 and 16 words."
    ),
    trials=texts,
    kind="control",
)
def untrained(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    weights = named(ratios(results, "same", "different", "attention", "untrained"))
    cosine = differences(results, "same", "different", "cosine", "untrained")
    return all_of(
        all_within("attention, same over different", weights, 0.01, around=1.0),
        all_within("cosine of the same topic less different", cosine, 0.05),
        tables=(_table(results, "same", "different", "untrained"),),
    )


@claim(
    id="topics/table-2.4",
    title="With several topics for a word the effect is weaker",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.4",
    statement=(
        "If words may belong to several topics, the ratio of same-topic to different-topic attention is "
        "smaller than with one topic for each word."
    ),
    criterion=(
        "The 95% interval of the difference of ratios, model by model, lies above 0 for topics of 4, 8 and "
        "16 words. Undecided if a model is less than 0.4 nats below the entropy of words."
    ),
    trials=texts,
    kind="figure",
)
def table_2_4(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    one = ratios(results, "same", "different", "attention")
    several = ratios(results, "several, same", "several, different", "attention")
    outcome = all_of(
        all_above("one topic less several", named({s: one[s] - several[s] for s in one})),
        tables=(_table(results, "several, same", "several, different"),),
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/figure-2.3",
    title="Nine unambiguous words fall into three blocks",
    source=f"{THESIS}, Section 2.1.2.2, Figure 2.3",
    statement=(
        "For words that are likely under one topic only, cosine similarities are larger within topics than "
        "between them: three words of each of three topics."
    ),
    criterion=(
        "The 95% interval of the mean cosine within less that across lies above 0. Undecided if a model is "
        "less than 0.4 nats below the entropy of words."
    ),
    trials=texts,
    figure=draw_nine,
    kind="figure",
)
def nine_words(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    found = [r.numbers["nine words"] for r in results.values()]
    apart = Estimate.of([one["within"] - one["across"] for one in found])
    outcome = all_of(
        all_above("within less across", apart),
        numbers={name: Estimate.of([one[name] for one in found]) for name in ("within", "across")},
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/table-2.5-cosine",
    title="Words of one topic are more similar than words that often stand together",
    source=f"{THESIS}, Section 2.1.6.2, Table 2.5",
    statement=(
        "Pairs of words of one topic have a larger mean cosine similarity than the pairs that stand together "
        "in the most documents, as many as one topic has pairs."
    ),
    criterion=(
        "The 95% interval of the difference lies above 0 for topics of 4, 8 and 16 words. Undecided if a "
        "model is less than 0.4 nats below the entropy of words."
    ),
    trials=texts,
    figure=draw_cooccurrence,
    kind="figure",
)
def table_2_5_cosine(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    outcome = all_of(
        all_above("same topic less together", differences(results, "same", "together", "cosine")),
        tables=(_table(results, "same", "together"),),
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/table-2.5-attention",
    title="They attend less to each other than words that often stand together",
    source=f"{THESIS}, Section 2.1.6.2, Table 2.5",
    statement=(
        "Pairs of words of one topic have a smaller mean attention than the pairs that stand together most."
    ),
    criterion=(
        "The 95% interval of attention of those that stand together less that of the same topic lies above 0 "
        "for topics of 4, 8 and 16 words: holds; one below: fails. Undecided if a model is less than 0.4 "
        "nats below the entropy of words."
    ),
    trials=texts,
    kind="figure",
)
def table_2_5_attention(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    outcome = all_of(
        all_above(
            "together less same topic", differences(results, "together", "same", "attention")
        ),
        tables=(_table(results, "same", "together"),),
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/debiasing",
    title="Long documents bias attention, and a factor of their length removes it",
    source=f"{THESIS}, Section 2.1.5.4, Debiasing average attention weight",
    statement=(
        "Longer documents have more topics and smaller weights, so that same-topic pairs have more attention "
        "even if it is uniform; multiplied by the length over 100 the ratio is 1."
    ),
    criterion=(
        "For uniform attention the debiased ratio is 1 to $10^{-9}$ in every world and for every number of "
        "words, and the 95% interval of the raw ratio, a mean over these numbers, lies above 1."
    ),
    trials=texts,
    kind="relation",
)
def debiasing(results: Results) -> Outcome:
    if not results:
        return _undecided(FIT)
    uniform = [r.numbers["uniform"] for r in results.values()]
    debiased = np.array([one["debiased"] for one in uniform], float)
    raw = Estimate.of([float(np.mean(one["raw"])) for one in uniform])
    return all_of(
        agrees("debiased ratio, off by", debiased, np.ones(debiased.shape), within=1e-9),
        all_above("raw ratio", raw, 1.0),
    )


# -- a user's own corpus -------------------------------------------------------------------------------


def _own(results: Results, measure: str) -> dict[str, np.ndarray]:
    found = results["corpus"].numbers["trained"]
    return {k: np.array([one[k][measure] for one in found], float) for k in ("same", "different")}


def _about(results: Results) -> dict[str, Any]:
    numbers = results["corpus"].numbers
    return {name: numbers[name] for name in ("documents", "words", "topics", "words in no topic")}


@claim(
    id="topics/own-corpus-embeddings",
    title="On your corpus, words of one topic have more similar embeddings",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.3, on a corpus that you give",
    statement=(
        "In masked models trained on the corpus different words of one of its topics have a larger cosine "
        "similarity than words of different topics."
    ),
    criterion=(
        "The 95% interval of the difference of mean cosines over seeds lies above 0: holds; below: fails. "
        "Undecided without a corpus, or if a model is less than 0.4 nats below the entropy of words."
    ),
    trials=corpus,
    kind="experiment",
)
def own_embeddings(results: Results) -> Outcome:
    if not results:
        return _undecided(GIVE)
    cosine = _own(results, "cosine")
    outcome = all_of(
        all_above("same topic less different", Estimate.of(cosine["same"] - cosine["different"])),
        numbers=_about(results),
    )
    return if_text_learned(results, outcome)


@claim(
    id="topics/own-corpus-attention",
    title="On your corpus, words of one topic attend more to each other",
    source=f"{THESIS}, Section 2.1.5.4, Table 2.3, on a corpus that you give",
    statement=(
        "In masked models trained on the corpus attention between different words of one of its topics, "
        "debiased by length, is larger than between words of different topics."
    ),
    criterion=(
        "The 95% interval of the ratio over seeds lies above 1: holds; below: fails. Undecided without a "
        "corpus, or if a model is less than 0.4 nats below the entropy of words."
    ),
    trials=corpus,
    kind="experiment",
)
def own_attention(results: Results) -> Outcome:
    if not results:
        return _undecided(GIVE)
    weights = _own(results, "attention")
    outcome = all_of(
        all_above("same over different", Estimate.of(weights["same"] / weights["different"]), 1.0),
        numbers=_about(results),
    )
    return if_text_learned(results, outcome)
