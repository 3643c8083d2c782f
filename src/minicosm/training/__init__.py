"""Training: objectives, schedules and the one compiled training loop."""

from .fit import History, Loss, fit, fit_ensemble
from .objectives import CausalObjective, MaskedObjective, Objective
from .progress import Stopped
from .schedules import adam, adamw, muon, warmup_cosine, warmup_linear

__all__ = [
    "CausalObjective",
    "History",
    "Loss",
    "MaskedObjective",
    "Objective",
    "Stopped",
    "adam",
    "adamw",
    "fit",
    "fit_ensemble",
    "muon",
    "warmup_cosine",
    "warmup_linear",
]
