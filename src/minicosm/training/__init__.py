"""Training: objectives, schedules and the one compiled training loop."""

from .attention_penalty import AttentionPenalty
from .bags import ARMS, Arm, BagLoss, Bags, draw_bags, mean_losses, stack_arms, stack_bags
from .contrastive import SampledContrast, contrastive_loss
from .curricula import (
    LABELS,
    Curriculum,
    equal_split,
    kappa_split,
    labels_only,
    one_shot,
    progressive,
    two_shot,
)
from .distillation import COLD, Distilled, SignVectors, Task, soft_targets
from .fit import History, Loss, fit, fit_ensemble
from .labels import Labelled, LabelledWorld, LabelObjective
from .layer_penalty import LayerPenalty
from .least_squares import Fitted, least_squares
from .logged import logged
from .next_tokens import NextBatch, NextTokens
from .objectives import CausalObjective, MaskedObjective, Objective
from .one_of import OneOf
from .progress import Diverged, Stopped
from .refinement import Pairs, RefinementObjective, TranslationObjective
from .schedules import adam, adamw, muon, ngd, warmup_cosine, warmup_linear
from .sentences import MaskedBatch, MaskedSentences
from .sign_tokens import SignTokens
from .trajectory import Trajectory, Transition, keeping, stacked, steps_to, transition

__all__ = [
    "ARMS",
    "COLD",
    "LABELS",
    "Arm",
    "AttentionPenalty",
    "BagLoss",
    "Bags",
    "CausalObjective",
    "Curriculum",
    "Distilled",
    "Diverged",
    "Fitted",
    "History",
    "LabelObjective",
    "Labelled",
    "LabelledWorld",
    "LayerPenalty",
    "Loss",
    "MaskedBatch",
    "MaskedObjective",
    "MaskedSentences",
    "NextBatch",
    "NextTokens",
    "Objective",
    "OneOf",
    "Pairs",
    "RefinementObjective",
    "SampledContrast",
    "SignTokens",
    "SignVectors",
    "Stopped",
    "Task",
    "Trajectory",
    "Transition",
    "TranslationObjective",
    "adam",
    "adamw",
    "contrastive_loss",
    "draw_bags",
    "equal_split",
    "fit",
    "fit_ensemble",
    "kappa_split",
    "keeping",
    "labels_only",
    "least_squares",
    "logged",
    "mean_losses",
    "muon",
    "ngd",
    "one_shot",
    "progressive",
    "soft_targets",
    "stack_arms",
    "stack_bags",
    "stacked",
    "steps_to",
    "transition",
    "two_shot",
    "warmup_cosine",
    "warmup_linear",
]
