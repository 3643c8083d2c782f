"""The explorer: worlds, theorems and samplers to touch, in the browser (`minicosm explore`).

What is computed and drawn are ordinary functions: `markov` (hidden Markov worlds and the theorems about
heads and prompts), `brackets` (exact, constructed and trained models of brackets), `tree_walk` (VGB on its
tree) and `spins` (block dynamics and parallel sampling). `app` is the notebook that wires widgets to them.
"""
