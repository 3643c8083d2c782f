"""Front doors that check their arguments by their annotations."""

import inspect
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int

from minicosm.theory.checks import POSITIVE, whole
from minicosm.theory.signatures import checked

AnyArray = jax.Array | np.ndarray


@checked(n=whole(1), rate=POSITIVE)
def door(
    E: Float[AnyArray, "rows m"],
    M: Float[np.ndarray, "m m"],
    n: int = 1,
    *,
    rate: float | None = None,
    how: Literal["fast", "slow"] = "fast",
    at: Int[np.ndarray, " rows"] | None = None,
) -> tuple:
    """A door."""
    return E, M, n, rate, how, at


def test_what_a_signature_says_is_asked_of_a_call():
    E, M = np.ones((3, 2)), np.eye(2)
    wrong = [
        ((E, np.eye(3)), {}, r"M has shape \(3, 3\); .* \(m, m\), where m is 2 as in E"),
        ((E, np.ones((2, 3))), {}, r"M has shape \(2, 3\)"),
        ((E[0], M), {}, r"E has shape \(2,\); it must have shape \(rows, m\)"),
        ((E[:0], M), {}, r"E has shape \(0, 2\)"),
        ((E * np.nan, M), {}, r"E\[0, 0\] is nan"),
        ((E, M, 0), {}, "n is 0; it must be in 1.."),
        ((E, M, True), {}, "n is True; it must be a whole number"),
        ((E, M), {"rate": 0.0}, "rate is 0; it must be finite and more than 0"),
        ((E, M), {"how": "soon"}, "how is 'soon'; it must be one of 'fast', 'slow'"),
        ((E, M), {"at": [0, 1]}, r"at has shape \(2,\); .* rows is 3 as in E"),
        ((E, M), {"at": [0.5, 1, 2]}, "at is of dtype float64; it must be an array of whole"),
    ]
    for args, kwargs, sentence in wrong:
        with pytest.raises((ValueError, TypeError), match=sentence):
            door(*args, **kwargs)


def test_a_good_call_comes_through_with_arrays_of_the_annotated_kind():
    E, M, n, rate, how, at = door([[1, 2]], jnp.eye(2), rate=None, at=[0])
    assert E.dtype == np.float64 and isinstance(M, np.ndarray)
    assert (n, rate, how) == (1, None, "fast") and at.dtype == np.int64
    assert door.__doc__ == "A door." and list(inspect.signature(door).parameters)[:2] == ["E", "M"]
    with pytest.raises(TypeError, match=r"door\(\) missing 1 required positional argument: 'M'"):
        door(E)


def test_under_a_trace_shapes_are_checked_and_values_are_trusted():
    @jax.jit
    def total(E: Array) -> Array:
        return door(E, np.eye(2))[0].sum()

    assert np.isnan(total(jnp.full((3, 2), jnp.nan)))
    with pytest.raises(ValueError, match=r"M has shape \(2, 2\); .* m is 3 as in E"):
        total(jnp.ones((3, 3)))


def test_records_are_checked_when_they_are_made():
    @checked("width")
    class Record(NamedTuple):
        up: Float[np.ndarray, "inputs width"]
        size: int

        def check(self) -> None:
            if self.size != len(self.up):
                raise ValueError(f"size is {self.size}; up has {len(self.up)} rows")

    made = Record(np.ones((2, 0)), 2)
    assert made == made._replace(size=2) and made._fields == ("up", "size")
    with pytest.raises(ValueError, match="size is 3; up has 2 rows"):
        Record(np.ones((2, 1)), size=3)
    with pytest.raises(ValueError, match=r"up has shape \(0, 1\)"):
        Record(np.ones((0, 1)), size=0)


def test_a_check_of_an_argument_that_is_not_there_is_a_mistake():
    with pytest.raises(TypeError, match=r"has no arguments \['N'\] to be checked"):

        @checked(N=POSITIVE)
        def f(n: int) -> int:
            return n
