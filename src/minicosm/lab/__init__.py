"""The laboratory: claims and their trials, a store that survives being killed, and the lab book.

It knows nothing of worlds or models, and importing it loads nothing heavy.
"""

from minicosm.lab.claims import (
    PROFILES,
    Cell,
    Claim,
    Estimate,
    LabError,
    Outcome,
    ProfileName,
    Progress,
    Study,
    Table,
    Trial,
    TrialResult,
    Verdict,
    silent,
)
from minicosm.lab.figures import PALETTE, figure, to_svg
from minicosm.lab.run import Checked, check, recall
from minicosm.lab.store import Store, home

__all__ = [
    "PALETTE",
    "PROFILES",
    "Cell",
    "Checked",
    "Claim",
    "Estimate",
    "LabError",
    "Outcome",
    "ProfileName",
    "Progress",
    "Store",
    "Study",
    "Table",
    "Trial",
    "TrialResult",
    "Verdict",
    "check",
    "figure",
    "home",
    "recall",
    "silent",
    "to_svg",
]
