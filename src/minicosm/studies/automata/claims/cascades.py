"""Every automaton as a cascade of groups and memories: Sections 3.4.4.3.2 and 3.4.4.3.4."""

from ..study import STUDY

claim = STUDY.section(__doc__)
