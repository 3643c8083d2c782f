"""What runs differ in: loss, method and schedule. And where seeds begin."""

from typing import Literal

Kind = Literal["nce", "exponential"]
KINDS: tuple[Kind, ...] = ("nce", "exponential")
METHODS: tuple[Literal["gd", "ngd"], ...] = ("gd", "ngd")
SCHEDULES: tuple[Literal["constant", "decay"], ...] = ("constant", "decay")
FIRST = 22_000  # added to all seeds: those of the probes that set the criteria are used up
