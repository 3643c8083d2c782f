"""Training: objectives, schedules and the one compiled training loop."""

from .fit import History, Loss, adam, fit, fit_ensemble, warmup_linear

__all__ = ["History", "Loss", "adam", "fit", "fit_ensemble", "warmup_linear"]
