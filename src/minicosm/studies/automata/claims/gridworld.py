"""Gridworlds in two layers of attention: Section 3.4.4.4."""

from ..study import STUDY

claim = STUDY.section(__doc__)
