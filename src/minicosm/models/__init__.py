"""Models: what predicts. Exact worlds satisfy these protocols as they are."""

from .protocols import CausalLM, MaskedLM

__all__ = ["CausalLM", "MaskedLM"]
