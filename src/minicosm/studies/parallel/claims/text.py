"""Table 4.1 on parallel text that a user gives: external, undecided without files."""

from math import inf
from typing import Any

from minicosm.lab import Outcome, ProfileName, Table, Trial, Verdict

from ...common.checks import Results
from ..study import STUDY
from .trials import PAPER

GAP = 1.5  # in BLEU
FOUR = "parallel, 4 passes"
GIVE = (
    "No text was given: set source, target, test_source and test_target to files of which line i of a "
    "target translates line i of its source."
)


def text(
    profile: ProfileName,
    seed: int,
    *,
    source: str | None = None,
    target: str | None = None,
    test_source: str | None = None,
    test_target: str | None = None,
    tokenizer: str | None = None,
    vocab: int | None = None,
    coverage: float = 1.0,
    tokenize: str = "13a",
    longest: int | None = None,
    layers: int | None = None,
    heads: int | None = None,
    width: int | None = None,
    mlp_width: int | None = None,
    dropout: float | None = None,
    positions: str | None = None,
    steps: int | None = None,
    warmup: int | None = None,
    rate: float | None = None,
    batch: int | None = None,
    pieces: int | None = None,
    hypotheses: int = 5,
    together: int = 64,
    distill: bool = True,
    outputs: str | None = None,
) -> dict[str, Trial]:
    """A run on the user's files; sizes are those of the profile where they are not set."""
    files: dict[str, Any] = {
        "source": source, "target": target, "test_source": test_source, "test_target": test_target,
    }  # fmt: skip
    missing = [name for name, path in files.items() if path is None]
    if len(missing) == len(files):
        return {}
    if missing:
        raise ValueError(
            f"{missing[0]} is not set; source, target, test_source and test_target go together"
        )
    if tokenizer is not None and (vocab is not None or coverage != 1):
        raise ValueError(
            f"tokenizer is {tokenizer}, which has its own pieces; vocab and coverage are for a vocabulary "
            "that is learned from the text"
        )
    from ..text.settings import TextRun
    from ..text.trial import run

    profiles: dict[str, dict[str, Any]] = {
        "smoke": {
            "vocab": 200, "longest": 32, "layers": 1, "heads": 2, "width": 32, "mlp_width": 64,
            "steps": 20, "warmup": 5, "batch": 16, "pieces": 1, "dropout": 0.0,
            "positions": "learned",
        },
        "laptop": {
            "vocab": 4000, "longest": 64, "layers": 2, "heads": 4, "width": 128, "mlp_width": 512,
            "steps": 10_000, "warmup": 500, "batch": 64, "pieces": 2,
            "positions": "learned",
        },
        "paper": {},
    }  # fmt: skip
    given = {
        "vocab": vocab, "longest": longest, "layers": layers, "heads": heads, "width": width,
        "mlp_width": mlp_width, "dropout": dropout, "steps": steps, "warmup": warmup, "rate": rate,
        "batch": batch, "pieces": pieces, "tokenizer": tokenizer, "outputs": outputs,
        "positions": positions,
    }  # fmt: skip
    values = files | profiles[profile]
    values |= {name: value for name, value in given.items() if value is not None}
    config = TextRun(
        contents=tuple(_content(path) for path in (*files.values(), tokenizer) if path),
        coverage=coverage, tokenize=tokenize, hypotheses=hypotheses, together=together,
        distill=distill, seed=seed, **values,
    )  # fmt: skip
    return {"text": Trial(run, config)}


def _content(path: str) -> str:
    """A hash of a file."""
    import hashlib

    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {(error.strerror or 'unknown').lower()}"
        ) from None


def _systems(results: Results) -> dict | None:
    return results["text"].numbers["systems"] if results else None


def _table(results: Results) -> Table:
    found = results["text"].numbers
    return Table(
        "translations of the test text",
        ("system", "BLEU", "word stutter per 1000", "decoder passes", "tokens"),
        tuple(
            (name, s["bleu"], s["stutter"], s["passes"], s["length"])
            for name, s in found["systems"].items()
        ),
        note=f"Training text: {found['training']}; {found['left_out']} with more than {found['longest']} "
        f"tokens on a side left out. Test text: {found['test']}; {found['cut']} with more cut. "
        f"{next(iter(found['systems'].values()))['signature']}",
    )


@STUDY.claim(
    id="text/table-4.1",
    title="Four parallel passes translate nearly as well as an autoregressive model",
    source=f"{PAPER}, Table 4.1",
    statement=(
        "On parallel text, refinement with 4 passes and 5 lengths is at most 1.5 BLEU behind an "
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
    expected="undecided",
)
def table(results: Results) -> Outcome:
    systems = _systems(results)
    if systems is None:
        return Outcome("undecided", {"files": 0}, remark=GIVE)
    slow, fast = systems["autoregressive"], systems[FOUR]
    gap = slow["bleu"] - fast["bleu"]
    verdict: Verdict = "holds" if gap <= GAP else "fails"
    remark = ""
    if slow["bleu"] <= GAP:
        verdict, remark = "undecided", "The autoregressive model has not learned to translate."
    return Outcome(
        verdict,
        {
            "gap in BLEU": gap,
            "autoregressive": slow["bleu"],
            FOUR: fast["bleu"],
            "the same, chosen by tokens alone": systems[f"{FOUR}, chosen by tokens alone"]["bleu"],
            "times fewer decoder passes": slow["passes"] / fast["passes"],
            "mean target": results["text"].numbers["mean_target"],
        },
        (_table(results),),
        remark,
    )


@STUDY.claim(
    id="text/word-stutter",
    title="Parallel decoding repeats words at least twice as often",
    source=f"{PAPER}, Section 4.2.3",
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
    expected="undecided",
)
def stutter(results: Results) -> Outcome:
    systems = _systems(results)
    if systems is None:
        return Outcome("undecided", {"files": 0}, remark=GIVE)
    slow, fast = systems["autoregressive"]["stutter"], systems[FOUR]["stutter"]
    numbers = {"autoregressive, per 1000 words": slow, "parallel, per 1000 words": fast}
    if not slow and not fast:
        return Outcome("undecided", numbers, (_table(results),), "Neither output repeats a word.")
    ratio = fast / slow if slow else inf
    return Outcome(
        "holds" if ratio >= 2 else "fails", {"ratio": ratio, **numbers}, (_table(results),)
    )
