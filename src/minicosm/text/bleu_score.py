"""BLEU of translated text, by sacreBLEU."""

from collections.abc import Sequence
from typing import NamedTuple

from .checks import check_choice, check_texts

TOKENIZERS = ("13a", "zh", "intl", "char", "none")  # of sacreBLEU, those that download nothing


class Bleu(NamedTuple):
    """The score, 0 to 100, with the signature that says how it was counted."""

    score: float
    signature: str


def bleu(outputs: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Bleu:
    """BLEU of a whole corpus, one reference each. `tokenize` is sacreBLEU's: 13a, zh for Chinese."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise ImportError(
            "BLEU needs the package sacrebleu: pip install 'minicosm[text]'"
        ) from None
    check_texts("outputs", outputs)
    check_texts("references", references)
    if len(outputs) != len(references) or not outputs:
        raise ValueError(
            f"there are {len(outputs)} outputs and {len(references)} references; "
            "as many are needed, and at least one"
        )
    check_choice("tokenize", tokenize, TOKENIZERS)
    metric = BLEU(tokenize=tokenize)
    score = metric.corpus_score(list(outputs), [list(references)]).score
    return Bleu(float(score), str(metric.get_signature()))
