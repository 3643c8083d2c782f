"""Configurations in three sizes, and options that are their fields."""

from dataclasses import dataclass

import pytest

from minicosm.lab import Claim, Trial, sized
from minicosm.lab.options import assign, options_of

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


@dataclass(frozen=True)
class Sizes:
    seed: int
    worlds: int
    rates: tuple[float, ...] = (0.5,)
    data: str = "plain"


def run(config, progress):
    raise AssertionError("never run")


@sized(Sizes, smoke={"worlds": 2}, laptop={"worlds": 200}, paper={"worlds": 1000, "data": "all"})
def trials(config: Sizes) -> dict[str, Trial]:
    return {f"rate {rate}": Trial(run, config) for rate in config.rates}


def test_a_profile_sets_sizes_and_a_user_the_fields():
    (trial,) = trials("paper", 3).values()
    assert trial.config == Sizes(3, 1000, data="all")
    assert [t.config.worlds for t in trials("smoke", 0, worlds=7, rates=(0.1, 0.2)).values()] == [
        7,
        7,
    ]


def test_the_options_of_a_claim_are_the_fields_of_its_configuration():
    claim = Claim("s/c", "", "", "", "", trials, lambda results: None)
    options = options_of(claim)
    assert {name: option.default_text for name, option in options.items()} == {
        "worlds": "200",
        "rates": "0.5",
        "data": "plain",
    }
    assert assign([claim], {"rates": "0.1,0.2"}) == [{"rates": (0.1, 0.2)}]


def test_a_size_that_is_no_field_is_refused_when_the_study_is_imported():
    with pytest.raises(TypeError, match="profile smoke sets 'wolds'; Sizes has seed, worlds"):
        sized(Sizes, smoke={"wolds": 2}, laptop={"worlds": 2}, paper={"worlds": 2})
    with pytest.raises(TypeError, match=r"Sizes.worlds has no default and profile laptop"):
        sized(Sizes, smoke={"worlds": 2}, laptop={}, paper={"worlds": 2})
