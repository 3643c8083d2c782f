"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="automata",
    title="Shortcuts to automata: how shallow Transformers simulate what recurrences compute step by step",
    source=(
        "B. Liu: PhD thesis, Sections 3.1 to 3.4; from B. Liu, J. T. Ash, S. Goel, A. Krishnamurthy, "
        "C. Zhang: Transformers learn shortcuts to automata. ICLR 2023"
    ),
    about=(
        "A finite semiautomaton reads one symbol a step and changes its state: the smallest model of "
        "reasoning step by step. A shallow Transformer can give all states in one pass with far fewer "
        "layers than steps. Every construction is compiled to explicit weights for any transition table, "
        "run against the exact states, and measured against the printed sizes; what cannot be compiled is "
        "refused with its reason. Transformers and recurrent networks are trained on the same automata to "
        "see whether training finds shortcuts, and how brittle they are."
    ),
    headlines=(),
    misprints=(),
    aliases=("shortcuts",),
)
