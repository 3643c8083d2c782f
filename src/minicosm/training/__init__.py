"""Training: objectives, schedules and the one compiled training loop."""

from .bags import ARMS, Arm, BagLoss, Bags, draw_bags, mean_losses, stack_arms, stack_bags
from .contrastive import SampledContrast, contrastive_loss
from .fit import History, Loss, fit, fit_ensemble
from .labels import Labelled, LabelledWorld, LabelObjective
from .least_squares import Fitted, least_squares
from .logged import logged
from .objectives import CausalObjective, MaskedObjective, Objective
from .one_of import OneOf
from .progress import Diverged, Stopped
from .refinement import Pairs, RefinementObjective, TranslationObjective
from .schedules import adam, adamw, muon, ngd, warmup_cosine, warmup_linear

__all__ = [
    "ARMS",
    "Arm",
    "BagLoss",
    "Bags",
    "CausalObjective",
    "Diverged",
    "Fitted",
    "History",
    "LabelObjective",
    "Labelled",
    "LabelledWorld",
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
    "draw_bags",
    "fit",
    "fit_ensemble",
    "least_squares",
    "logged",
    "mean_losses",
    "muon",
    "ngd",
    "stack_arms",
    "stack_bags",
    "warmup_cosine",
    "warmup_linear",
]
