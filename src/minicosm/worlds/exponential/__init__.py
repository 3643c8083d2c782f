"""Exponential families with a law of data and a law of noise, for noise-contrastive estimation."""

from .diagonal_gaussian import DiagonalGaussian
from .family import ExponentialFamily, Grid
from .finite_family import FiniteFamily
from .gaussian_mean import GaussianMean

__all__ = ["DiagonalGaussian", "ExponentialFamily", "FiniteFamily", "GaussianMean", "Grid"]
