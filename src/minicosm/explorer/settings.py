"""What the widgets of the explorer hold at first, how far they go, and what is said about each tab."""

from typing import Any

KINDS = {
    "few tokens, covered (Assumption 3.5)": "covered",
    "independent emissions (Assumption 3.1)": "independent",
    "two states emit one law": "deficient",
    "few tokens, not covered": "uncovered",
    "softmax of random logits (Appendix E)": "softmax",
}
"""Random worlds by what is said of them."""
TEXTS = ("A", "W", "p0", "mu", "tokens")
"""What is typed of a world."""
WORLD: dict[str, Any] = {
    "kind": "covered", "hidden": 6, "vocab": 4, "seed": 3, "temperature": 0.3, "sparse": True,
}  # fmt: skip
BRACKETS: dict[str, Any] = {"text": "([]([()])[]", "seed": 0}
TREE: dict[str, Any] = {"bits": 4, "noise": 0.8, "seed": 0, "walk_seed": 0, "step": 40}
SPINS: dict[str, Any] = {
    "shape": "clique", "count": 6, "temperature": 1.0, "field": 0.05, "k": 2, "seed": 0, "step": 20,
}  # fmt: skip
"""What the widgets hold at first."""
SHAPES, MOST_SPINS, MOST_BITS = ("clique", "ring", "two cliques"), 7, 5
WALK_STEPS, CHAIN_STEPS = 300, 60
"""How far they go."""


ABOUT = {
    "markov": (
        r"A hidden Markov world: $H_0 \sim p_0$, $H_i \sim A[:, H_{i-1}]$, $X_i \sim W[:, H_i]$. Draw one, "
        r"or edit its matrices: columns sum to one. The task is to tell $1(\mu \cdot P[H_0 \mid x] \ge 0)$ "
        r"from what the exact model puts out; Theorem 3.3 constructs a linear head, Theorem 3.6 a prompt "
        r"and a head."
    ),
    "brackets": (
        r"Brackets `( ) [ ]`, at most four open at once: one opens, or the last open one is closed, each "
        r"with probability $1/2$. Theorem 2.2.1 constructs an exact model around any attention that is "
        r"balanced; the two trained ones (3000 steps each, shipped with the package) have one such layer as "
        r"well. A map that looks like nothing can be exact."
    ),
    "tree": (
        r"VGB is a lazy walk on the tree of prefixes: from $u$ it goes up with weight $V(u)$ and down to "
        r"$ua$ with weight $\pi(a \mid u) V(ua)$. If the values of leaves are exact, its law given a leaf "
        r"becomes the wanted one, however wrong the verifier is on the way. Value guidance without a way "
        r"back keeps the verifier's errors."
    ),
    "spins": (
        r"An Ising model: $p(x) \propto \exp((h \sum_i x_i + \sum_{i<j} J_{ij} x_i x_j) / T)$. Block "
        r"dynamics draws $k$ spins anew given the others, and its law becomes $p$. To draw all spins at "
        r"once, each given the old others, ends with another law."
    ),
}
