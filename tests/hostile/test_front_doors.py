"""Every public callable, found by listing the front doors, has a table of hostile calls or a stated reason
why not; and hypothesis calls them with what no table thought of."""

import functools
from typing import Any

import hostile_tables as tables
import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import hostile

pytestmark = pytest.mark.usefixtures("unchecked_types")

RULES = {
    (
        "start",
        "step",
        "cost",
        "report",
    ): "a sampler's rule for a row: the engine calls it, under a trace",
}
EXEMPT = {
    "Evaluation": "carries what evaluate found",
    "decoding.Trace": "carries what a sampler found",
    "text.Outcome": "carries how a run ended",
    "lab.Checked": "carries what a check found",
    "theory.automata.Cascade": "made by cascade_of and krohn_rhodes",
    "theory.automata.Component": "carries a part of what holonomy found",
    "theory.automata.Decomposition": "made by holonomy",
    "theory.automata.Group": "made by group",
    "theory.automata.ImageSets": "carries what image_sets found",
    "theory.automata.Semigroup": "made by semigroup",
    "lab.silent": "takes anything and says nothing",
    "text.HuggingFace": "needs the package tokenizers",
    "decoding.HuggingFaceGenerator": "needs torch: make test-extras",
    "training.Objective": "abstract: MaskedObjective and CausalObjective are made",
}
"""By name; a class stands for its methods."""


def is_exempt(name: str) -> bool:
    package_and_class, _, method = name.rpartition(".")
    a_rule = package_and_class.startswith("decoding.") and any(method in rule for rule in RULES)
    return a_rule or name in EXEMPT or package_and_class in EXEMPT


@functools.cache
def missing(package: str) -> frozenset[str]:
    known = {id(tables.behind(call.target)) for call in tables.calls()}
    return frozenset(door.name for door in tables.doors(package) if id(door.function) not in known)


@pytest.mark.parametrize("package", tables.PACKAGES)
def test_every_callable_has_a_table_or_a_reason(package):
    assert any(tables.doors(package))
    found = {name for name in missing(package) if not is_exempt(name)}
    assert not found, f"no table has {sorted(found)}"


def test_no_exemption_is_stale():
    every = {door.name for package in tables.PACKAGES for door in tables.doors(package)}
    lacking = set().union(*map(missing, tables.PACKAGES))
    for name in EXEMPT:
        assert name in every, f"{name} is no public callable"
        assert name in lacking, f"{name} has a table and needs no exemption"
    for rule in RULES:
        assert all(any(name.endswith(f".{method}") for name in every) for method in rule)


# -- what no table thought of ---------------------------------------------------------------------

SIZES = st.one_of(st.integers(-3, 12), st.integers(2**31, 2**80), st.integers(-(2**80), -(2**31)))
NUMBERS = st.one_of(st.floats(), st.floats(-2, 2), SIZES, st.complex_numbers(), st.booleans())
DTYPES = st.sampled_from(
    [
        "?",
        "i1",
        "u1",
        "i4",
        "i8",
        "u8",
        "f2",
        "f4",
        "f8",
        ">i4",
        ">f8",
        "c16",
        "U3",
        "S2",
        "M8[D]",
        "O",
    ]
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: npst.arrays(
        np.dtype(dtype),
        npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        elements=NUMBERS if dtype == "O" else None,
    )
)
TEXTS = st.one_of(st.text(max_size=8), st.binary(max_size=4))
LEAVES = st.one_of(NUMBERS, TEXTS, st.none())
NESTED = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2)
)
ANYTHING = st.one_of(NUMBERS, ARRAYS, TEXTS, NESTED)
NOT_TRIED = ("path", "folder", "checkpoint", "code")
"""Arguments that name files or programs: a text that is drawn would be made or run."""


def like(value: Any) -> set[str]:
    """The values of the list whose fault a drawn value has; where it has none, nobody knows."""
    if isinstance(value, np.ndarray | np.generic):
        kind, entries = value.dtype.kind, np.asarray(value)
        if not entries.size:
            return set()
        if kind == "f" and not np.isfinite(entries).all():
            whole = (
                {"nan", "array of nan", "entry nan"} if np.isnan(entries).any() else {"inf", "-inf"}
            )
            return whole | {"entry inf"}
        names = {"U": "strings", "S": "strings", "c": "complex", "M": "dates", "O": "objects"}
        return {f"array of {names[kind]}"} if kind in names else set()
    for kinds, name in ((bool, "True"), (complex, "1j"), (str, "'abc'"), (bytes, "b''")):
        if isinstance(value, kinds):
            return {name}
    if isinstance(value, list | dict):
        return {repr(value)} & set(hostile.VALUES)
    if value is None:
        return {"None"}
    if isinstance(value, float) and not np.isfinite(value):
        return {str(value)}
    if isinstance(value, int):
        large = {name for name in ("2**40", "2**70") if value >= hostile.VALUES[name]}
        return {"-1"} if value < 0 else {"0"} if value == 0 else large
    return set()


def check(data: st.DataObject, calls: list[hostile.Call]) -> None:
    """One argument of one call is replaced by a value of the list or by one that is drawn."""
    call = data.draw(st.sampled_from(calls), label="call")
    chosen = [name for name in call.arguments if name not in NOT_TRIED]
    hypothesis.assume(chosen)
    name = data.draw(st.sampled_from(chosen), label="argument")
    argument = call.arguments[name]
    if data.draw(st.integers(0, 3), label="listed"):
        value = data.draw(ANYTHING, label="value")
        names = like(value)
    else:
        text = data.draw(st.sampled_from(list(hostile.VALUES)), label="listed value")
        value, names = hostile.VALUES[text], {text}
    what, said = hostile.attempt(call, name, value, argument.names)
    if what == "nan" and hostile.has_nan(call.values()):
        what = "accepted"
    if what == "nan" and isinstance(value, list):
        names = names.union(*map(like, value))
    allowed = argument.nan if what == "nan" else argument.allows
    meant = what in ("accepted", "nan") and bool(names & allowed)
    unknown = what == "accepted" and not names
    assert what == "sentence" or meant or unknown, f"{call.name}({name}={value!r}): {what}: {said}"


def drawn_calls(names: list[str]) -> list[hostile.Call]:
    """Calls whose files are not made by a fixture."""
    found = [call for name in names for call in tables.table(name)]
    return [call for call in found if not any(name in NOT_TRIED for name in call.arguments)]


@hypothesis.settings(max_examples=25, derandomize=True, database=None)
@hypothesis.given(data=st.data())
def test_what_is_drawn_meets_a_sentence(data):
    check(data, drawn_calls(tables.names()[2::5]))


@pytest.mark.long
@hypothesis.settings(max_examples=2500, database=None)
@hypothesis.given(data=st.data())
def test_two_thousand_drawn_values_meet_a_sentence(data):
    check(data, drawn_calls(tables.names()))
