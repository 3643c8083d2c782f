"""Adaptation: what is tuned on a frozen model."""

from .heads import AttentionHead, LinearHead, accuracy
from .logistic import logistic_regression
from .prompt import Classifier, SoftPrompt

__all__ = [
    "AttentionHead",
    "Classifier",
    "LinearHead",
    "SoftPrompt",
    "accuracy",
    "logistic_regression",
]
