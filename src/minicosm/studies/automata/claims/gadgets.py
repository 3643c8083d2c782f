"""Lookups, thresholds and attention that selects: Section 3.4.4.1."""

from ..study import STUDY

claim = STUDY.section(__doc__)
