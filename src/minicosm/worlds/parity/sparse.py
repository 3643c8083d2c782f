"""Sparse parity: the label is the product of k of d uniform signs."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_key,
    check_size,
    check_tokens,
    check_whole_numbers,
    is_concrete,
)
from ..checks import check_last_axes

MOST = 2**16


class ParitySample(NamedTuple):
    """One draw: the coordinates as tokens, 0 for +1 and 1 for -1, and the class."""

    tokens: Int[Array, "*n d"]
    label: Int[Array, "*n"]

    @property
    def signs(self) -> Float[Array, "*n d"]:
        """The coordinates, ±1."""
        return signs_of(self.tokens)


def signs_of(tokens: Int[AnyArray, "*n d"]) -> Float[Array, "*n d"]:
    """`1 - 2 token`: tokens 0 and 1 as the signs +1 and -1."""
    return 1.0 - 2.0 * jnp.asarray(tokens)


def check_signs(x: AnyArray, d: int) -> Float[Array, "*n d"]:
    """Vectors of d signs, each +1 or -1."""
    x = check_last_axes("x", x, (d,))
    if is_concrete(x):
        bad = np.abs(np.asarray(x)) != 1
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"x{list(where)} is {np.asarray(x)[where]:g}; it must be +1 or -1")
    return x


def check_coordinates(name: str, value: Sequence[int], k: int, d: int) -> tuple[int, ...]:
    """k different coordinates in 0..d-1, sorted."""
    found = np.asarray(check_whole_numbers(name, value, 0, d - 1, (k,))).tolist()
    if len(set(found)) < k:
        raise ValueError(f"{name} is {found}; its coordinates must be different")
    return tuple(sorted(found))


class SparseParity(eqx.Module):
    r"""`x` uniform on `{±1}^d`; class 0 if `prod_{i in S} x_i = +1`, class 1 if it is -1, for a support S
    of k coordinates (the first ones unless they are given).

    As a world of token sequences it is d independent uniform bits, token 0 for +1 and token 1 for -1; the
    class is what a model reads off at the end. `labels` is exact, so Bayes' loss is 0.
    """

    d: int = eqx.field(static=True)
    support: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, d: int, k: int, support: Sequence[int] | None = None):
        check_size(f"d = {d} coordinates", check_count("d", d), MOST)
        if check_count("k", k) > d:
            raise ValueError(f"k is {k} and d is {d}; a parity has at most d coordinates")
        self.d = int(d)
        self.support = (
            tuple(range(k)) if support is None else check_coordinates("support", support, k, d)
        )

    @property
    def k(self) -> int:
        """How many coordinates the label depends on."""
        return len(self.support)

    @property
    def vocab(self) -> int:
        return 2

    @property
    def classes(self) -> int:
        return 2

    def labels(self, x: Float[AnyArray, "*n d"]) -> Int[Array, "*n"]:
        """The class of each sign vector: `(1 - prod_{i in S} x_i) / 2`."""
        product = jnp.prod(check_signs(x, self.d)[..., jnp.asarray(self.support)], axis=-1)
        return ((1 - product) / 2).astype(jnp.int32)

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> ParitySample:
        """d uniform bits and their class; `length`, if given, must be d."""
        tokens = uniform_bits(key, self.d, length)
        return ParitySample(tokens, self.labels(signs_of(tokens)))

    def log_prob(self, tokens: Int[AnyArray, " d"]) -> Float[Array, ""]:
        """`-d log 2`."""
        return bits_log_prob(tokens, self.d)


def uniform_bits(key: PRNGKeyArray, d: int, length: int | None) -> Int[Array, " d"]:
    """d independent bits."""
    check_key(key)
    if length is not None and check_count("length", length) != d:
        raise ValueError(f"length is {length}; this world has sequences of length {d} only")
    return jax.random.bernoulli(key, 0.5, (d,)).astype(jnp.int32)


def bits_log_prob(tokens: Int[AnyArray, " d"], d: int) -> Float[Array, ""]:
    """The log probability of d bits; impossible ones cannot be told under a trace and have none."""
    tokens = check_tokens(tokens, None, 2)[0]
    if tokens.shape[0] != d:
        raise ValueError(
            f"tokens have length {tokens.shape[0]}; this world has sequences of length {d} only"
        )
    tokens = jnp.asarray(tokens)
    inside = jnp.all((tokens >= 0) & (tokens < 2))
    return jnp.where(inside, -d * np.log(2.0), -jnp.inf)
