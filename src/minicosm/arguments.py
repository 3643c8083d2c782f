"""Arguments that several commands have."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import Positional, arg

from minicosm.lab.claims import ProfileName

Json = Annotated[bool, arg(help="Print one JSON document on standard output, nothing else.")]
Studies = Annotated[
    Positional[tuple[str, ...]],
    arg(help="Only these studies, by name or by file.", metavar="[STUDY or FILE.py ...]"),
]
Profile = Annotated[
    ProfileName,
    arg(
        help="How large: smoke (a minute a study), laptop (about an hour a study on two cores), "
        "paper (for a GPU)."
    ),
]
