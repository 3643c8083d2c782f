"""One run on real text: a teacher, its translations, two models of equal size, and their scores."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from minicosm.lab import Progress, TrialResult
from minicosm.models import Translator
from minicosm.models.stutter import word_stutter_rate
from minicosm.text.bleu_score import bleu
from minicosm.text.subwords import Subwords
from minicosm.text.token_pairs import TokenPairs
from minicosm.training import RefinementObjective, TranslationObjective, fit
from minicosm.training.schedules import adafactor

from ..trials import TextRun
from . import text_data as data
from .text_translation import SCORES, Translated, beam, refined, translate

MODELS = {"teacher": True, "autoregressive": True, "parallel": False}  # whether it is causal


def content(path: str) -> str:
    """A hash of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise ValueError(f"{path} cannot be read: {reason}") from None


def run(config: TextRun, progress: Progress, folder: Path) -> TrialResult:
    """Checkpoints, the vocabulary and the teacher's translations are in `folder`, so that a run that
    was stopped goes on where it was."""
    progress(0, 1, "reading the text")
    _check_ends(config)
    subwords = data.subwords_of(config, folder)
    pairs, survey = data.training_pairs(config, subwords)
    test, test_survey = data.test_pairs(config, subwords)
    say = _Stages(progress, config)
    targets = pairs
    if config.distill:
        teacher, _ = _trained("teacher", pairs, config, folder, say)
        (found,) = translate(
            beam(teacher, config), pairs, config, say.of("teaching"), folder / "taught"
        )
        targets = data.with_targets(pairs, found.tokens)
    numbers: dict[str, Any] = {
        "training": str(survey),
        "test": str(test_survey),
        "pairs": len(pairs),
        "longest": config.longest,
        "left_out": pairs.longer,
        "cut": test.longer,
        "taught_nothing": targets.empty - pairs.empty,
        "vocab": subwords.vocab,
        "mean_target": float(targets.target.lengths.mean()),
        "sentences": len(test),
        "systems": {},
        "parameters": {},
        "loss": {},
    }
    for name in ("autoregressive", "parallel"):
        model, history = _trained(name, targets, config, folder, say)
        numbers["parameters"][name] = sum(
            leaf.size for leaf in jax.tree.leaves(model) if hasattr(leaf, "size")
        )
        numbers["loss"][name] = float(history["loss"][-1])
        if MODELS[name]:
            names, system = [name], beam(model, config)
        else:
            names = [f"{name}, {n} passes{score}" for score in SCORES for n in config.passes]
            system = refined(model, config)
        each = translate(system, test, config, say.of(f"translating, {name}"), None)
        for label, found in zip(names, each, strict=True):
            numbers["systems"][label] = _scores(label, found, test, subwords, config)
    return TrialResult(numbers)


def _check_ends(config: TextRun) -> None:
    """What is needed when all training is over is asked for before it begins."""
    bleu([""], [""], config.tokenize)  # says which package is missing
    if config.outputs:
        try:
            Path(config.outputs).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "unknown").lower()
            raise ValueError(
                f"outputs is {config.outputs}, which cannot be a folder: {reason}"
            ) from None


class _Stages:
    """Progress over all parts of a run."""

    def __init__(self, progress: Progress, config: TextRun):
        names = ["teacher", "teaching"] if config.distill else []
        for name in ("autoregressive", "parallel"):
            names += [name, f"translating, {name}"]
        self.names, self.progress = names, progress

    def of(self, name: str) -> Progress:
        def tell(done: int, total: int, note: str = "") -> None:
            at = self.names.index(name) * 1000 + 1000 * done // max(total, 1)
            self.progress(at, 1000 * len(self.names), f"{name}: {note}" if note else name)

        return tell


def _trained(
    name: str, pairs: TokenPairs, config: TextRun, folder: Path, say: _Stages
) -> tuple[Translator, Any]:
    """A model trained on these pairs."""
    causal = MODELS[name]
    start, draws = jax.random.split(
        jax.random.fold_in(jax.random.key(config.seed), list(MODELS).index(name))
    )
    model = Translator(data.shape(config, pairs.vocab, causal=causal), key=start)
    if causal:
        loss = data.loss_over(pairs, config, TranslationObjective)
    else:
        loss = data.loss_over(
            pairs, config, RefinementObjective, stages=config.stages, keep=config.keep
        )
    count = jax.device_count()
    if (config.batch // config.pieces) % count:
        raise ValueError(
            f"a piece of {config.batch // config.pieces} pairs cannot be divided among {count} devices; "
            "set batch and pieces so that it can"
        )
    mesh = jax.make_mesh((count,), ("batch",)) if count > 1 else None
    return fit(
        loss, model, adafactor(config.rate, config.steps, config.warmup, floor=config.floor),
        config.steps, draws, chunk=min(500, config.steps), accumulate=config.pieces,
        progress=say.of(name), checkpoint=folder / f"{name}.npz", sharding=mesh,
    )  # fmt: skip


def _scores(
    name: str, found: Translated, test: TokenPairs, subwords: Subwords, config: TextRun
) -> dict[str, Any]:
    """BLEU, stutter and passes of one system on the test text."""
    lines = subwords.decode([row.tolist() for row in found.tokens])
    if config.outputs:
        text = "".join(line.replace("\n", " ") + "\n" for line in lines)
        data.write(
            Path(config.outputs) / f"{name.replace(',', '').replace(' ', '-')}.txt", text.encode()
        )
    score = bleu(lines, test.references, config.tokenize)
    return {
        "bleu": score.score,
        "intl": bleu(lines, test.references, "intl").score,  # as in Table 4.2
        "signature": score.signature,
        "stutter": word_stutter_rate(
            words(lines, config.tokenize), words(test.references, config.tokenize)
        ),
        "passes": float(found.passes.mean()),
        "length": float(sum(map(len, found.tokens)) / len(lines)),
        "first": lines[0],
    }


def words(lines: Sequence[str], tokenize: str) -> list[list[str]]:
    """Words between blanks; in text that is scored by characters, the characters."""
    if tokenize in ("zh", "char"):
        return [[c for c in line if not c.isspace()] for line in lines]
    return [line.split() for line in lines]
