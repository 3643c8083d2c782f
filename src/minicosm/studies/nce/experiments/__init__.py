"""Descent from samples: Gaussians, images."""
