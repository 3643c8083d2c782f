"""Training: objectives, schedules and the one compiled training loop."""

from .fit import History, Loss, fit, fit_ensemble
from .least_squares import Fitted, least_squares
from .objectives import CausalObjective, MaskedObjective, Objective
from .one_of import OneOf
from .progress import Diverged, Stopped
from .refinement import Pairs, RefinementObjective, TranslationObjective
from .schedules import adam, adamw, muon, warmup_cosine, warmup_linear

__all__ = [
    "CausalObjective",
    "Diverged",
    "Fitted",
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
    "least_squares",
    "muon",
    "warmup_cosine",
    "warmup_linear",
]
