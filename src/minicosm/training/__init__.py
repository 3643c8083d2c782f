"""Training: objectives, schedules and the one compiled training loop."""

from .contrastive import SampledContrast, contrastive_loss
from .fit import History, Loss, fit, fit_ensemble
from .objectives import CausalObjective, MaskedObjective, Objective
from .one_of import OneOf
from .progress import Diverged, Stopped
from .refinement import Pairs, RefinementObjective, TranslationObjective
from .schedules import adam, adamw, muon, ngd, warmup_cosine, warmup_linear

__all__ = [
    "CausalObjective",
    "Diverged",
    "History",
    "Loss",
    "MaskedObjective",
    "Objective",
    "OneOf",
    "Pairs",
    "RefinementObjective",
    "SampledContrast",
    "Stopped",
    "TranslationObjective",
    "adam",
    "adamw",
    "contrastive_loss",
    "fit",
    "fit_ensemble",
    "muon",
    "ngd",
    "warmup_cosine",
    "warmup_linear",
]
