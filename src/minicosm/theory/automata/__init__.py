"""What is proved about Transformers that simulate semiautomata, as functions that run.

Numbers are those of B. Liu's thesis, Sections 3.1 to 3.4, the fuller text of Liu, Ash, Goel, Krishnamurthy
and Zhang (ICLR 2023).
"""

from .counters import lemma_15, lemma_15_sizes, lemma_16, lemma_16_sizes
from .gadget_lemmas import (
    lemma_10,
    lemma_10_sizes,
    lemma_11,
    lemma_11_sizes,
    lemma_12,
    lemma_12_sizes,
    lemma_13,
    proposition_2,
    proposition_2_constant,
)
from .gridworld_theorems import (
    algorithm_1_is_exact,
    lemma_22,
    lemma_23,
    theorem_12,
    theorem_12_margins,
    theorem_12_sizes,
)
from .log_depth import (
    lemma_14,
    lemma_14_sizes,
    recurrence,
    theorem_10,
    theorem_10_readout_as_printed,
    theorem_10_sharpness,
    theorem_10_sizes,
)
from .network import Audit, Decoder, Network, side_by_side
from .simulation import exact_states, strings

__all__ = [
    "Audit",
    "Decoder",
    "Network",
    "algorithm_1_is_exact",
    "exact_states",
    "lemma_10",
    "lemma_10_sizes",
    "lemma_11",
    "lemma_11_sizes",
    "lemma_12",
    "lemma_12_sizes",
    "lemma_13",
    "lemma_14",
    "lemma_14_sizes",
    "lemma_15",
    "lemma_15_sizes",
    "lemma_16",
    "lemma_16_sizes",
    "lemma_22",
    "lemma_23",
    "proposition_2",
    "proposition_2_constant",
    "recurrence",
    "side_by_side",
    "strings",
    "theorem_10",
    "theorem_10_readout_as_printed",
    "theorem_10_sharpness",
    "theorem_10_sizes",
    "theorem_12",
    "theorem_12_margins",
    "theorem_12_sizes",
]
