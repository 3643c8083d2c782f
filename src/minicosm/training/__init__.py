"""Training: objectives, schedules and the one compiled training loop."""

from .fit import History, Loss, fit, fit_ensemble
from .logged import logged
from .objectives import CausalObjective, MaskedObjective, Objective
from .one_of import OneOf
from .progress import Diverged, Stopped
from .refinement import Pairs, RefinementObjective, TranslationObjective
from .schedules import adam, adamw, muon, warmup_cosine, warmup_linear

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
    "Stopped",
    "TranslationObjective",
    "adam",
    "adamw",
    "fit",
    "fit_ensemble",
    "logged",
    "muon",
    "warmup_cosine",
    "warmup_linear",
]
