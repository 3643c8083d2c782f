"""How large each profile is, and sentences that many claims share."""

from typing import Any

from minicosm.lab import ProfileName, Trial

from ...common.checks import TOLERANCE

PAPER = "Wei, Xie, Ma 2021"
IDENTITY = (
    f"On every world the identity holds to {TOLERANCE:g} (relative to the head's largest weight) on "
    "every sequence in scope, and no label differs where the exact score is above 1e-9 in size."
)

WORLDS = {"smoke": 4, "laptop": 200, "paper": 1000}


def suite(module: str, function: str = "run", *, factor: int = 1) -> Any:
    """The trials of one suite: `suites.<module>.<function>` at the profile's size."""

    def trials(profile: ProfileName, seed: int) -> dict[str, Trial]:
        from ..suites import head, memory, printed, prompt, prompted
        from ..suites.suite import Suite

        modules = {
            m.__name__.rpartition(".")[2]: m for m in (head, memory, printed, prompt, prompted)
        }
        shapes = 1 if profile == "smoke" else 2
        config = Suite(seed, worlds=factor * WORLDS[profile], shapes=shapes)
        return {"suite": Trial(getattr(modules[module], function), config)}

    return trials
