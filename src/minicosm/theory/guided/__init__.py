"""Guided generation, exactly: prefix trees as Markov chains, laws and costs of samplers."""
