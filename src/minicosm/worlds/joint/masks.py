"""Mask laws: which positions are hidden, and with what probability."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb, inf
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_distribution,
    check_key,
    check_kind,
    check_length,
    check_number,
    check_size,
    check_whole_numbers,
    native,
    numeric,
    parameter,
    short,
    sum_text,
)
from .joint import Joint, check_mask

MOST_MASKS = 2**14


def check_k(k: Any, most: int, least: int = 1) -> int:
    """`k`, how many positions are hidden, as a whole number in `least..most`."""
    if not (_is_whole(k) and least <= k <= most):
        raise ValueError(f"k is {short(k)}; it must be a whole number in {least}..{most}")
    return int(k)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


class MaskLaw(eqx.Module):
    """`P(K | x)` for a list of masks K; a mask is True at the positions that it hides.

    `weights[m] = P(K_m)` if the mask does not look at the sequence, `weights[x, m] = P(K_m | x)` if
    it does. Together the masks of positive probability hide every position.
    """

    masks: Bool[np.ndarray, "M N"]
    weights: Float[np.ndarray, "*states M"]

    def __init__(self, masks: Any, weights: Any):
        """Masks as rows of truth values, and their probabilities."""
        masks, weights = np.asarray(native("masks", masks)), numeric("weights", weights)
        if masks.ndim != 2 or masks.dtype != bool or masks.shape[1] == 0:
            raise ValueError(
                f"masks have shape {masks.shape} and dtype {masks.dtype}; they must be boolean, one "
                "row per mask and one column per position"
            )
        shape = (None, len(masks)) if np.ndim(weights) == 2 else (len(masks),)
        given = parameter("weights", weights, shape)
        if given.ndim == 1:
            check_distribution("weights", given, columns=False)
        weights = np.asarray(given, np.float64)
        used = weights.reshape(-1, len(masks)).max(axis=0) > 0
        missed = np.flatnonzero(~masks[used].any(axis=0))
        if missed.size:
            raise ValueError(
                f"no mask hides position {missed[0]}; the masks must cover all {masks.shape[1]} "
                "positions"
            )
        self.masks, self.weights = masks, weights

    @classmethod
    def blocks(cls, length: int, cover: Iterable[Iterable[int]], probabilities: Any = None) -> Self:
        """Weighted blocks (Definition 4.1.2): sets of positions, which may overlap, with their
        probabilities (equal by default)."""
        check_length(length, 2**12)
        if not isinstance(cover, Iterable) or isinstance(cover, str | bytes | dict):
            raise ValueError(f"cover is {short(cover)}; it must be a list of sets of positions")
        sets = [list(block) if isinstance(block, Iterable) else block for block in cover]
        if not sets:
            raise ValueError("the cover has no blocks; it must cover every position")
        masks = np.zeros((len(sets), length), bool)
        for row, block in zip(masks, sets, strict=True):
            if not isinstance(block, list) or not all(
                _is_whole(i) and 0 <= i < length for i in block
            ):
                raise ValueError(
                    f"a block of the cover is {short(block)}; "
                    f"it must be a set of whole numbers in 0..{length - 1}"
                )
            row[block] = True
        if probabilities is None:
            probabilities = np.full(len(sets), 1 / len(sets))
        return cls(masks, probabilities)

    @classmethod
    def uniform(cls, length: int, k: int) -> Self:
        """All sets of k positions, equally likely (Definition 4.1.3)."""
        check_length(length, 2**12)
        k = check_k(k, length)
        if comb(length, k) > MOST_MASKS:
            raise ValueError(
                f"{length} positions have {comb(length, k):.3g} sets of {k}; at most {MOST_MASKS} masks "
                "are written out; a clique of equal spins has lumped chains, whatever its size"
            )
        return cls.blocks(length, combinations(range(length), k))

    @classmethod
    def bernoulli(cls, length: int, rate: float) -> Self:
        """Each position hidden independently with probability `rate`; the empty mask is allowed."""
        check_length(length, 2**12)
        if check_number("rate", rate, 0, 1) == 0:
            raise ValueError(f"rate is {rate}; it must be greater than 0 and at most 1")
        if 2**length > MOST_MASKS:
            raise ValueError(f"{length} positions have 2^{length} masks; at most {MOST_MASKS} fit")
        masks = (np.arange(2**length)[:, None] >> np.arange(length)[::-1] & 1).astype(bool)
        sizes = masks.sum(axis=1)
        return cls(masks, rate**sizes * (1.0 - rate) ** (length - sizes))

    @classmethod
    def adaptive(cls, masks: Sequence[Sequence[int]], table: Any, length: int) -> Self:
        """`P(K_m | x) = table[x, m]` (Definition 4.1.7); rows of impossible x may be zero."""
        try:
            law = cls.blocks(length, masks)
        except ValueError as error:
            raise ValueError(f"masks are no law on {short(length)} positions: {error}") from None
        return cls(law.masks, parameter("table", table, (None, len(law.masks))))

    @property
    def length(self) -> int:
        return self.masks.shape[1]

    @property
    def looks(self) -> bool:
        """Whether the mask depends on the sequence."""
        return self.weights.ndim == 2

    def check(self, joint: Joint) -> None:
        """Raise unless this is a mask law for the sequences of this law."""
        check_kind("joint", joint, Joint, "a Joint")
        if self.length != joint.length:
            raise ValueError(
                f"the masks have {self.length} positions; the sequences have {joint.length}"
            )
        if not self.looks:
            return
        if len(self.weights) != len(joint.probabilities):
            raise ValueError(
                f"the mask law has {len(self.weights)} rows; there are "
                f"{len(joint.probabilities)} sequences"
            )
        sums = self.weights.sum(axis=1)
        off = (np.abs(sums - 1) > 1e-8) & ((joint.probabilities > 0) | (sums > 0))
        if off.any():
            at = int(np.argmax(off))
            raise ValueError(
                f"the mask probabilities of sequence {at} sum to {sum_text(sums[at])}; they must sum "
                "to 1, or be zero for a sequence of probability zero"
            )

    def sample(self, key: PRNGKeyArray, states: Int[AnyArray, " n"]) -> Bool[Array, "n N"]:
        """A mask for each of these sequences, given by their numbers: `K ~ P(. | x)`."""
        most = len(self.weights) - 1 if self.looks else 2**31 - 1
        states = jnp.asarray(check_whole_numbers("states", states, 0, most, (None,)))
        check_key(key)
        logs = jnp.log(jnp.asarray(self.weights, jnp.float32))
        rows = logs[states] if self.looks else logs
        drawn = jax.random.categorical(key, rows, axis=-1, shape=states.shape)
        return jnp.asarray(self.masks)[drawn]

    def log_prob(self, mask: Any, state: int = 0) -> float:
        """`log P(K | x)` of a mask, x being the sequence of this number; -inf if there is no such mask."""
        rows = len(self.weights) if self.looks else 2**31
        if check_count("state", state, least=0) >= rows:
            raise ValueError(f"state is {state}; it must be less than {rows}")
        same = (self.masks == check_mask(mask, self.length)).all(axis=1)
        total = self.weights.reshape(-1, len(self.masks))[state if self.looks else 0][same].sum()
        return float(np.log(total)) if total > 0 else -inf

    def items(
        self, states: int
    ) -> Iterator[tuple[Bool[np.ndarray, " N"], Float[np.ndarray, " states"]]]:
        """Every mask that has positive probability, with `P(K | x)` for every x."""
        return self._items(self._states(states))

    def _states(self, states: Any) -> int:
        check_size(f"{short(states)} states", check_count("states", states) * len(self.masks))
        if self.looks and states != len(self.weights):
            raise ValueError(f"states is {states}; the mask law has {len(self.weights)} rows")
        return int(states)

    def _items(
        self, states: int
    ) -> Iterator[tuple[Bool[np.ndarray, " N"], Float[np.ndarray, " states"]]]:
        for m, mask in enumerate(self.masks):
            weight = self.weights[..., m]
            if weight.max() > 0:
                yield mask, np.broadcast_to(weight, (states,)) if weight.ndim == 0 else weight

    def table(self, states: int) -> Float[np.ndarray, "states M"]:
        """`P(K_m | x)` for every x, whether or not it depends on x."""
        return np.broadcast_to(self.weights, (self._states(states), len(self.masks)))
