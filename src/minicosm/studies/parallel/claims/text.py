"""Table 4.1 on parallel text that a user gives: undecided without files."""

from math import inf

from minicosm.lab import Outcome, Results, Table, all_of, at_least, at_most, only_if

from ..study import STUDY, THESIS
from ..trials import text

claim = STUDY.section(__doc__)

GAP = 1.5  # in BLEU
FOUR = "parallel, 4 passes"
GIVE = (
    "No text was given: set source, target, test_source and test_target to files of which line i of a "
    "target translates line i of its source."
)


def _table(results: Results) -> Table:
    found = results["text"].numbers
    longest = results["text"].config.longest
    return Table(
        "translations of the test text",
        ("system", "BLEU", "BLEU (intl)", "word stutter per 1000", "decoder passes", "tokens"),
        tuple(
            (name, s["bleu"], s["intl"], s["stutter"], s["passes"], s["length"])
            for name, s in found["systems"].items()
        ),
        note=f"Training text: {found['training']}; {found['left_out']} with more than {longest} tokens on a "
        f"side left out. Test text: {found['test']}; {found['cut']} with more cut. "
        f"{next(iter(found['systems'].values()))['signature']}",
    )


@claim(
    id="parallel/table-4.1",
    title="Four parallel passes translate nearly as well as an autoregressive model",
    source=f"{THESIS}, Section 4.2.3, Table 4.1",
    statement=(
        "On parallel text, refinement with 4 passes and 5 lengths is at most 1.5 BLEU below an "
        "autoregressive model of the same size with a beam of 5, both trained on a teacher's translations "
        "(0.01 to 1.35 in print)."
    ),
    criterion=(
        "BLEU of the test text by sacreBLEU, one seed as in print, of the hypothesis whose length and tokens "
        "are most likely together: a gap of at most 1.5 holds, a larger one fails; undecided without files, "
        "or if the autoregressive model has at most 1.5, as no gap could then be larger."
    ),
    trials=text,
    kind="experiment",
)
def table(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"files": 0}, remark=GIVE)
    found = results["text"].numbers
    slow, fast = found["systems"]["autoregressive"], found["systems"][FOUR]
    alone = found["systems"][f"{FOUR}, chosen by tokens alone"]["bleu"]
    outcome = all_of(
        at_most("gap in BLEU", slow["bleu"] - fast["bleu"], GAP),
        numbers={
            "autoregressive": slow["bleu"],
            FOUR: fast["bleu"],
            "the same, chosen by tokens alone": alone,
            "times fewer decoder passes": slow["passes"] / fast["passes"],
            "mean target": found["mean_target"],
        },
        tables=(_table(results),),
    )
    return only_if(
        slow["bleu"] > GAP, "The autoregressive model has not learned to translate.", outcome
    )


@claim(
    id="parallel/word-stutter",
    title="Parallel decoding repeats words at least twice as often",
    source=f"{THESIS}, Section 4.2.3",
    statement=(
        "Words that repeat the one before them, and do not in the reference, are at least twice as frequent "
        "in the output of 4 parallel passes as in that of the autoregressive model."
    ),
    criterion=(
        "The ratio of the rates is at least 2: holds; less: fails; without files, or without any repeat in "
        "either output, undecided."
    ),
    trials=text,
    kind="experiment",
)
def stutter(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"files": 0}, remark=GIVE)
    systems = results["text"].numbers["systems"]
    slow, fast = systems["autoregressive"]["stutter"], systems[FOUR]["stutter"]
    outcome = all_of(
        at_least("ratio", fast / slow if slow else inf, 2.0),
        numbers={"autoregressive, per 1000 words": slow, "parallel, per 1000 words": fast},
        tables=(_table(results),),
    )
    return only_if(bool(slow or fast), "Neither output repeats a word.", outcome)
