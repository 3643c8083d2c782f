"""Theorem 2.2.2: its sums against strings, its bound on random parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.dyck.approximate import (
    Strings,
    approximate_balance,
    contributions,
    equation_2_72,
    equation_2_73,
    least_outputs,
    pair_effects,
    prefix_outputs,
    random_parameters,
    read_output,
    string,
    telescope,
    theorem_2_2_2,
)
from minicosm.theory.dyck.losses import excess_loss, loss_as_printed, rarest_prefixes
from minicosm.theory.dyck.merging import lemma_2_2_1, lemma_2_2_1_sharp, merging, merging_ratio
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
    one = approximate_balance(given, N, kind, depth, inner)
    assert np.all(one.scaled <= 4 + 16 * np.arange(D))
    assert one.prefix <= 1 and one.steps <= 16
    if noise == 0:
        assert one.scaled.max() < 1e-8 and one.distance > 0
    whole = theorem_2_2_2(given, N)
    assert whole.holds and whole.details["cases"] == k * (D - 1) * k
    assert whole.details["scaled"] >= one.scaled.max()
    assert 1 - whole.slack >= max(one.prefix, one.steps / 16) - 1e-12


def test_an_open_bracket_of_a_pair_is_one_deeper_than_the_closed_one():
    """Eq. 2.80 prints both at depth d' - 1: that sum does not vanish under balance."""
    given = random_parameters(np.random.default_rng(4), 2, 4, noise=0.0)
    u = contributions(given, given.closed(0, 2))
    assert np.abs(pair_effects(given, u)).max() < 1e-12
    misprinted = [u[given.closed(i, d)] + u[given.open(i, d)] for i in (0, 1) for d in (1, 2, 3)]
    assert max(map(np.linalg.norm, misprinted)) > 1e-2


def test_equations_hold_on_strings_and_the_printed_sum_does_not():
    given = random_parameters(np.random.default_rng(1), 2, 3)
    strings = Strings(given, 33, 1, 2, 0)
    assert equation_2_73(strings).holds and telescope(strings).holds
    assert not equation_2_73(strings, printed=True).holds
    # The innermost pair, at depth d', is what the printed sum leaves out.
    _, S, _ = strings.parts()
    right, printed = (prefix_outputs(S[None], 33, 2, which)[0] for which in (False, True))
    for outer in (1, 2):
        assert np.allclose(right[outer] - printed[outer], S[outer - 1] - S[outer])
    laws = equation_2_72(strings, Dyck(2, 3, 0.3), 0.3)
    assert laws.holds and laws.details["cases"] == 3
    assert not equation_2_72(strings, Dyck(2, 3, 0.3), 0.4).holds


def test_the_rarest_prefix_and_the_bounds_on_the_loss():
    world = Dyck(2, 2, 0.3)

    def least(depth, left):
        """The least probability of `left` more tokens, over all ways to go on."""
        if not left:
            return 1.0
        opens = {0: 0.5, 1: 0.15}.get(depth)  # p(d) / k
        closes = {1: 0.7, 2: 1.0}.get(depth)
        ways = [opens and opens * least(depth + 1, left - 1)]
        ways.append(closes and closes * least(depth - 1, left - 1))
        return min(way for way in ways if way)

    assert np.allclose(rarest_prefixes(world, 8), [np.log(least(0, n)) for n in range(9)])
    assert excess_loss(world, 0.3, 17).holds
    printed = loss_as_printed(world, 0.3, 17)
    assert printed.holds is False and printed.details["least loss"] > 0.3


@given(st.integers(0, 10**6))
def test_a_long_common_summand_makes_directions_agree(seed):
    rng = np.random.default_rng(seed)
    epsilon, n = 10 ** rng.uniform(-3, 0.3), int(rng.integers(2, 6))
    a, b, r = rng.normal(size=(3, n)) * 10 ** rng.uniform(-3, 3)
    size = max(np.linalg.norm(a), np.linalg.norm(b))
    r *= merging_ratio(epsilon) * size / np.linalg.norm(r)
    r *= 1 + 1e-12
    assert lemma_2_2_1(a, b, r, epsilon).holds and lemma_2_2_1_sharp(a, b, r).holds
    assert not lemma_2_2_1(a, b, r / 2, epsilon).applies


def test_the_sharp_constant_is_attained_and_the_printed_one_is_too_small():
    r = np.array([0.0, 1.0])
    a = 1e-3 * np.array(
        [np.sqrt(1 - 1e-6), -1e-3]
    )  # a + r touches the circle of radius |a| about r
    b = a * np.array([-1, 1])
    gap, ratio = merging(a, b, r)
    assert gap == pytest.approx(2 / ratio, rel=1e-9)
    assert lemma_2_2_1_sharp(a, b, r).details["share"] == pytest.approx(1)
    small = 1e-3 * np.eye(2)
    r = merging_ratio(0.5, 1e-3) * small[1]
    printed = lemma_2_2_1(small[0], -small[0], r, 0.5, printed=True)
    assert printed.applies and not printed.holds and merging(small[0], -small[0], r)[0] > 1.3


def test_what_the_theorem_needs_is_said():
    given = random_parameters(np.random.default_rng(0), 2, 2)
    with pytest.raises(ValueError, match="N is 16; it must be greater than 8 D = 16"):
        approximate_balance(given, 16, 0, 2, 0)
    with pytest.raises(ValueError, match=r"depth is 1; it must be in 2\.\.2"):
        approximate_balance(given, 20, 0, 1, 0)
