"""Probabilistic context-free grammars in layers."""

from .layered import LayeredPCFG, PCFGPosterior, PCFGSample

__all__ = ["LayeredPCFG", "PCFGPosterior", "PCFGSample"]
