"""Adaptation: what is tuned on a frozen model.

`HeadTuning(...).fit(model, tokens, labels)` and `PromptTuning(...).fit(model, tokens, labels, key)` are the
short way; losses, starts and rates are what they are made of, for `training.fit` and `fit_ensemble`.
"""

from .estimators import HeadTuning, PromptTuning, Tuned
from .heads import AttentionHead, LinearHead, accuracy
from .logistic import logistic_regression
from .ngram import causal_reliance, reliance, window
from .position_probe import fit_position_probe as fit_position_probe
from .prompt import Classifier, SoftPrompt
from .tuning import (
    FineTuningLoss,
    HeadLoss,
    SlotLoss,
    TuningLoss,
    attention_trainable,
    fresh_attention_head,
    fresh_linear_head,
    fresh_prompt,
    fresh_rows,
    prompt_rates,
    slot_messages,
)

__all__ = [
    "AttentionHead",
    "Classifier",
    "FineTuningLoss",
    "HeadLoss",
    "HeadTuning",
    "LinearHead",
    "PromptTuning",
    "SlotLoss",
    "SoftPrompt",
    "Tuned",
    "TuningLoss",
    "accuracy",
    "attention_trainable",
    "causal_reliance",
    "fresh_attention_head",
    "fresh_linear_head",
    "fresh_prompt",
    "fresh_rows",
    "logistic_regression",
    "prompt_rates",
    "reliance",
    "slot_messages",
    "window",
]
