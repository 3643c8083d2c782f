"""Theorem 2.2.2: its sums against strings, its bound on random parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.dyck.approximate import (
    approximate_balance,
    contributions,
    least_outputs,
    merging,
    merging_ratio,
    pair_effects,
    prefix_outputs,
    random_parameters,
    read_output,
    shifted_pair_effects,
    string,
)
from minicosm.worlds import Dyck


def _attention_output(given, tokens):
    """The unnormalised output of the last position, token by token from depths kept on a stack."""
    m, stack, ids = given.E.shape[1], [], [len(given.E) - 1]
    for token in map(int, tokens):
        if token % 2 == 0:
            stack.append(token)
            ids.append(given.open(token // 2, len(stack)))
        else:
            assert stack.pop() == token - 1
            ids.append(given.closed(token // 2, len(stack)))
    total, query = np.zeros(m), given.E[ids[-1]]
    logits = [given.E[a] @ given.M @ query for a in range(len(given.E))]
    for a in ids:
        value = given.W_V @ given.E[a]
        total += np.exp(logits[a] - max(logits)) * (value - value.mean())
    return total


@pytest.mark.parametrize("noise", [None, 0.0, 0.1])
@pytest.mark.parametrize("outer", [0, 1, 2])
def test_prefix_outputs_are_those_of_explicit_strings(noise, outer):
    given = random_parameters(np.random.default_rng(outer), 2, 3, noise=noise)
    N, depth, kind, inner = 31, 3, 1, 0
    u = contributions(given, given.closed(kind, depth - 1))
    least = least_outputs(given, kind, depth, u)
    S = pair_effects(given, u)
    A = prefix_outputs(S, N, depth)[inner, outer]
    for opens, output in zip(least[:2], least[2:], strict=True):
        tokens = string(N, depth, outer, inner, kind, opens)
        assert len(tokens) <= N and Dyck(2, 3).is_prefix(tokens)
        wanted = _attention_output(given, tokens)
        assert np.allclose(A + output, wanted, atol=1e-10)
        assert np.allclose(read_output(given, tokens, u), wanted, atol=1e-10)
        if noise is None:
            printed = prefix_outputs(S, N, depth, printed=True)[inner, outer]
            assert not np.allclose(printed + output, wanted, atol=1e-3)
    assert least.first[-1] != least.second[-1]
    assert np.linalg.norm(least.first_output) <= least.size


def test_rows_are_numbered_as_the_world_numbers_them():
    given = random_parameters(np.random.default_rng(0), 2, 3)
    tokens = np.array([0, 2, 2, 3, 3, 1, 2, 3])
    ids = np.asarray(Dyck(2, 3).token_depths(tokens))
    wanted = [
        given.open(0, 1), given.open(1, 2), given.open(1, 3), given.closed(1, 2),
        given.closed(1, 1), given.closed(0, 0), given.open(1, 1), given.closed(1, 0),
    ]  # fmt: skip
    assert list(ids) == wanted


@given(
    st.integers(0, 10**6),
    st.sampled_from([None, 0.0, 1e-3, 1e-2, 1e-1]),
    st.sampled_from([(2, 2), (2, 4), (3, 3)]),
)
def test_the_bound_and_its_steps_hold(seed, noise, shape):
    rng = np.random.default_rng(seed)
    k, D = shape
    given = random_parameters(rng, k, D, scale=float(rng.uniform(0.1, 3)), noise=noise)
    N, kind, inner, depth = (
        8 * D + 1 + int(rng.integers(200)), int(rng.integers(k)), int(rng.integers(k)),
        int(rng.integers(2, D + 1)),
    )  # fmt: skip
    found = approximate_balance(given, N, kind, depth, inner)
    assert np.all(found.scaled <= 4 + 16 * np.arange(D))
    assert found.prefix <= 1 and found.steps <= 16
    if noise == 0:
        assert found.scaled.max() < 1e-8 and found.distance > 0


def test_the_printed_pair_does_not_vanish_under_balance():
    given = random_parameters(np.random.default_rng(4), 2, 4, noise=0.0)
    u = contributions(given, given.closed(0, 2))
    assert np.abs(pair_effects(given, u)).max() < 1e-12
    assert np.linalg.norm(shifted_pair_effects(given, u), axis=-1).max() > 1e-2


@given(st.integers(0, 10**6))
def test_a_long_common_summand_makes_directions_agree(seed):
    rng = np.random.default_rng(seed)
    epsilon, n = 10 ** rng.uniform(-3, 0.3), int(rng.integers(2, 6))
    a, b, r = rng.normal(size=(3, n)) * 10 ** rng.uniform(-3, 3)
    size = max(np.linalg.norm(a), np.linalg.norm(b))
    r *= merging_ratio(epsilon) * size / np.linalg.norm(r)
    found = merging(a, b, r)
    assert found.gap <= epsilon and found.gap <= found.sharp * (1 + 1e-9)


def test_the_sharp_constant_is_attained_and_the_printed_one_is_too_small():
    r = np.array([0.0, 1.0])
    a = 1e-3 * np.array(
        [np.sqrt(1 - 1e-6), -1e-3]
    )  # a + r touches the circle of radius |a| about r
    b = a * np.array([-1, 1])
    found = merging(a, b, r)
    assert found.gap == pytest.approx(found.sharp, rel=1e-9)
    small = 1e-3 * np.eye(2)
    printed = merging(small[0], -small[0], merging_ratio(0.5, 1e-3) * small[1])
    assert printed.gap > 1.3


def test_what_the_theorem_needs_is_said():
    given = random_parameters(np.random.default_rng(0), 2, 2)
    with pytest.raises(ValueError, match="N is 16; it must be greater than 8 D = 16"):
        approximate_balance(given, 16, 0, 2, 0)
    with pytest.raises(ValueError, match=r"two types and d in 2\.\.2 are needed"):
        approximate_balance(given, 20, 0, 1, 0)
