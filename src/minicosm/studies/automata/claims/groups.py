"""Solvable groups in constant depth: Section 3.4.4.3."""

from ..study import STUDY

claim = STUDY.section(__doc__)
