"""Every automaton in logarithmic depth; counters and memories in one layer: Sections 3.4.1, 3.4.4.2."""

from ..study import STUDY

claim = STUDY.section(__doc__)
