"""What masked prediction says about the parameters of a hidden Markov model (Liu's thesis, Section 2.2).

`predictor(world, "x2,x3|x1")` of `minicosm.worlds` is the optimum of a task. Here is what can be read off it:

- `unseen` counts the directions of parameters that a task does not see, `twin` finds a second world with the
  same optimum or certifies that there is none nearby, `gauge` says how two such worlds are joined;
- `recover` and `recover_gaussian` compute the parameters from predictors that determine them;
- functions with the numbers of the source run its theorems and return a `Theorem`.
"""

from .assumptions import assumptions
from .atlas import ATLAS, PAIRS_ON_3, PAIRS_ON_8, TWO_TOKENS
from .discrete_theorems import (
    claim_1,
    gauge_joins,
    marginals,
    not_identified,
    one_visible_token,
    printed_pair,
    proposition_1,
    refuses_degenerate,
    theorem_4,
    theorem_4_later,
    theorem_6,
    theorem_6_in_fractions,
    theorem_7,
    unseen_directions,
)
from .distance import distance
from .examples import (
    across_a_gap_pair,
    clear_states,
    every_gap_pair,
    four_tokens,
    gaussian_gap_pair,
    middle_pair,
    one_step_pair,
    powers_pair,
    printed_worlds,
)
from .gauge import Gauge, gauge, gauge_twin, joined
from .gaussian_recovery import GaussianRecovered, recover_gaussian
from .gaussian_theorems import (
    gaussian_gap,
    lemma_7,
    lemma_7_as_printed,
    lemma_8,
    lemma_8_permutation,
    theorem_5,
    theorem_8,
    theorem_8_as_printed,
    theorem_9,
    turned_means,
    two_states,
)
from .recovery import Recovered, recover
from .tensors import Factors, jennrich, kruskal_condition, kruskal_rank
from .twins import NoTwinNearby, Twin, apart, other_roots, reflection, twin
from .unseen import Unseen, unseen

__all__ = [
    "ATLAS",
    "PAIRS_ON_3",
    "PAIRS_ON_8",
    "TWO_TOKENS",
    "Factors",
    "Gauge",
    "GaussianRecovered",
    "NoTwinNearby",
    "Recovered",
    "Twin",
    "Unseen",
    "across_a_gap_pair",
    "apart",
    "assumptions",
    "claim_1",
    "clear_states",
    "distance",
    "every_gap_pair",
    "four_tokens",
    "gauge",
    "gauge_joins",
    "gauge_twin",
    "gaussian_gap",
    "gaussian_gap_pair",
    "jennrich",
    "joined",
    "kruskal_condition",
    "kruskal_rank",
    "lemma_7",
    "lemma_7_as_printed",
    "lemma_8",
    "lemma_8_permutation",
    "marginals",
    "middle_pair",
    "not_identified",
    "one_step_pair",
    "one_visible_token",
    "other_roots",
    "powers_pair",
    "printed_pair",
    "printed_worlds",
    "proposition_1",
    "recover",
    "recover_gaussian",
    "reflection",
    "refuses_degenerate",
    "theorem_4",
    "theorem_4_later",
    "theorem_5",
    "theorem_6",
    "theorem_6_in_fractions",
    "theorem_7",
    "theorem_8",
    "theorem_8_as_printed",
    "theorem_9",
    "turned_means",
    "twin",
    "two_states",
    "unseen",
    "unseen_directions",
]
