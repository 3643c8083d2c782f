"""VGB on trees against a walk written down from the algorithm's text, solved by dense linear algebra."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory import guided
from minicosm.theory.guided import mixing
from minicosm.theory.guided.closed_forms import (
    biased_coin_errors,
    delayed_errors,
    fewest_queries,
    needle_costs,
    parity_queries,
)
from minicosm.theory.guided.distances import kl, tv
from minicosm.theory.guided.holding import HoldingWalk, repeated_proposals
from minicosm.theory.guided.lumped_tree import LumpedTree
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import (
    GuidedWorld,
    biased_coin,
    biased_coin_table,
    delayed_table,
    delayed_value,
    needle,
    noisy_dyck,
    noisy_table,
    random_tree,
    secret_parity,
    some_zero,
)


class Walk:
    """Algorithm 2 as printed, on the prefixes that the walk can come to from the root."""

    def __init__(self, world, log_table, lazy=True):
        self.world, self.table, H = world, np.exp(log_table), world.horizon
        self.nodes, moves = [()], {}
        for node in self.nodes:
            weights = {node[:-1]: self.value(node)} if node else {}
            if len(node) < H:
                law = world.base[len(node), self.state(node)]
                children = {(*node, a): law[a] * self.value((*node, a)) for a in range(world.vocab)}
                weights |= children
                self.nodes += [child for child, weight in children.items() if weight > 0]
            moves[node] = weights
        place = {node: i for i, node in enumerate(self.nodes)}
        self.kernel = np.zeros((len(self.nodes),) * 2)
        for node, weights in moves.items():
            for other, weight in weights.items():
                if weight > 0:
                    self.kernel[place[node], place[other]] = weight / sum(weights.values())
        if lazy:
            self.kernel = (self.kernel + np.eye(len(self.nodes))) / 2
        self.leaf = np.array([len(node) == H for node in self.nodes])

    def state(self, node):
        state = 0
        for h, token in enumerate(node):
            state = self.world.step[h, state, token]
        return state

    def value(self, node):
        return self.table[len(node), self.state(node)]

    def over_leaves(self, law):
        """An array over all strings."""
        whole = np.zeros(self.world.vocab**self.world.horizon)
        for node, mass in zip(self.nodes, law, strict=True):
            if len(node) == self.world.horizon:
                code = 0
                for token in node:
                    code = code * self.world.vocab + token
                whole[code] = mass
        return whole

    def stationary(self):
        n = len(self.kernel)
        system = np.vstack([self.kernel.T - np.eye(n), np.ones(n)])
        return np.linalg.lstsq(system, np.append(np.zeros(n), 1), rcond=None)[0]

    def first_leaf(self):
        """The law of the first leaf and the expected number of steps to it."""
        inner = ~self.leaf
        visits = np.linalg.inv(np.eye(inner.sum()) - self.kernel[inner][:, inner])[0]
        law = np.zeros(len(self.kernel))
        law[self.leaf] = visits @ self.kernel[inner][:, self.leaf]
        return self.over_leaves(law), visits.sum()

    def visited(self, node):
        """The probability to come to a node before any other leaf."""
        stop = self.leaf | np.array([other == node for other in self.nodes])
        if stop[0]:
            return 1.0
        goal = np.array([other == node for other in self.nodes])
        system = np.eye((~stop).sum()) - self.kernel[~stop][:, ~stop]
        return np.linalg.solve(system, self.kernel[~stop][:, goal].sum(axis=1))[0]


def drawn(seed, K=None, H=None, zeros=0.3):
    rng = np.random.default_rng(seed)
    K = K or int(rng.integers(1, 4))
    H = H or int(rng.integers(1, {1: 8, 2: 6, 3: 4}[K]))
    zeros = 0.0 if K == 1 else zeros
    for i in itertools.count():
        key = jax.random.fold_in(jax.random.key(seed), i)
        world = random_tree(key, K, H, zero_laws=zeros, zero_tilts=zeros)
        if world.log_partition() > -np.inf:
            return world, key


ALWAYS = (guided.stationary_law, guided.first_leaf, guided.scaled_levels)
SUPPORT = (
    guided.law_of_the_leaves, guided.gap_bounds, guided.time_to_the_root, guided.plain_guidance,
    lambda tree: guided.decay(tree, 200), lambda tree: guided.coverage(tree, 200),
)  # fmt: skip
LEAVES = (
    guided.mass_of_the_leaves, guided.least_mass_of_the_leaves, guided.spread_of_the_first_leaf,
    guided.holding_on_rejection,
)  # fmt: skip
EXACT = (
    guided.masses_of_levels, guided.spectrum, guided.law_at_every_time,
    guided.first_leaf_of_exact_values,
)  # fmt: skip


@given(st.integers(0, 10**6), st.sampled_from(["exact", "kappa", "sigma", "leaves"]))
def test_everything_proved_holds_on_random_trees(seed, kind):
    world, key = drawn(seed)
    table = {
        "exact": lambda: world.log_values(),
        "kappa": lambda: noisy_table(world, key, kappa=4.0),
        "sigma": lambda: noisy_table(world, key, sigma=0.5),
        "leaves": lambda: (
            world.log_values() + np.random.default_rng(seed).normal(size=world.log_values().shape)
        ),
    }[kind]()
    tree = PrefixTree(world, table)
    applied = [*ALWAYS, *SUPPORT]
    applied += LEAVES if kind != "leaves" else []
    applied += EXACT if kind == "exact" or (kind != "leaves" and world.horizon == 1) else []
    for statement in (*ALWAYS, *SUPPORT, *LEAVES, *EXACT):
        found = statement(tree)
        assert found.applies == (statement in applied), found
        assert found.holds is (True if found.applies else None), found
        if found.applies:
            assert (found.error is None) != (found.slack is None)
            assert found.error is None or found.error <= 1e-10
            assert found.slack is None or found.slack >= -1e-10


def test_a_statement_about_another_walk_is_false():
    """Weights and values that do not belong together: the statements notice."""
    coin = biased_coin(4)
    tree = PrefixTree(coin, biased_coin_table(coin, 0.5))
    tree.edge[3] *= 1.5
    assert guided.stationary_law(tree).holds is False
    assert guided.first_leaf(tree).holds is False
    tree = PrefixTree(coin, biased_coin_table(coin, 0.5))
    tree.weight[tree.leaves] *= 2
    assert guided.law_of_the_leaves(tree).holds  # in proportion, still
    assert guided.mass_of_the_leaves(tree).holds is False
    assert guided.time_to_the_root(tree).holds is False


@given(st.integers(0, 10**6))
def test_laws_and_times_against_the_walk_as_printed(seed):
    world, key = drawn(seed)
    table = noisy_table(world, key, kappa=5.0)
    tree, walk = PrefixTree(world, table), Walk(world, table)
    law, steps = walk.first_leaf()
    np.testing.assert_allclose(tree.first_leaf_law(), law, atol=1e-10)
    assert tree.hitting_time(lazy=True) == pytest.approx(steps, rel=1e-9)
    mu = walk.stationary()
    np.testing.assert_allclose(tree.stationary()[tree.leaves], walk.over_leaves(mu), atol=1e-10)
    np.testing.assert_allclose(
        np.sort(tree.spectrum()), np.sort(np.linalg.eigvals(walk.kernel).real), atol=1e-8
    )
    power = np.linalg.matrix_power(walk.kernel, 7)[0]
    np.testing.assert_allclose(tree.after(7)[tree.leaves], walk.over_leaves(power), atol=1e-12)
    mean = sum(np.linalg.matrix_power(walk.kernel, t)[0] for t in range(1, 6)) / 5
    np.testing.assert_allclose(
        tree.at_uniform_time(5)[tree.leaves], walk.over_leaves(mean), atol=1e-12
    )
    stopped = walk.kernel.copy()
    stopped[walk.leaf] = np.eye(len(stopped))[walk.leaf]
    within = np.linalg.matrix_power(stopped, 9)[0]
    np.testing.assert_allclose(tree.reached_by(9)[0], walk.over_leaves(within), atol=1e-12)


def test_visits_before_the_first_leaf():
    world, key = drawn(11, 2, 3)
    table = noisy_table(world, key, kappa=3.0)
    tree, walk = PrefixTree(world, table), Walk(world, table)
    wanted = {node: walk.visited(node) for node in walk.nodes}
    seen = tree.visits()
    for h in range(4):
        for i, node in enumerate(itertools.product((0, 1), repeat=h)):
            assert seen[tree.starts[h] + i] == pytest.approx(wanted.get(node, 0), abs=1e-12)


class Proposing(Walk):
    """The walk that proposes a parent or a child of the base law and holds on reject."""

    def __init__(self, world, log_table, bound):
        super().__init__(world, log_table)
        place = {node: i for i, node in enumerate(self.nodes)}
        self.kernel = np.zeros_like(self.kernel)
        for node, i in place.items():
            if node:
                self.kernel[i, place[node[:-1]]] = 0.5 / bound
            if len(node) < world.horizon:
                law = world.base[len(node), self.state(node)]
                for a in range(world.vocab):
                    accept = self.value((*node, a)) / (bound * self.value(node))
                    if (*node, a) in place:
                        self.kernel[i, place[*node, a]] = 0.5 * law[a] * accept
            self.kernel[i, i] = 1 - self.kernel[i].sum()


@given(st.integers(0, 10**6), st.sampled_from([1.0, 1.7]))
def test_the_walk_that_holds_on_reject(seed, slack):
    """Against its kernel written down, and its law of leaves is that of exact values whatever the errors."""
    world, key = drawn(seed)
    table = noisy_table(world, key, kappa=3.0)
    tree = PrefixTree(world, table)
    bound = slack * HoldingWalk(tree).bound
    walk, referee = HoldingWalk(tree, bound), Proposing(world, table, bound)
    assert referee.kernel.min() >= -1e-12
    mu = walk.stationary()
    np.testing.assert_allclose(walk.advance(mu), mu, atol=1e-12)
    assert mu[tree.alive] == pytest.approx(
        [p for _, p in sorted(zip(map(order, referee.nodes), referee.stationary(), strict=True))],
        abs=1e-9,
    )
    np.testing.assert_allclose(tree.given_leaf(mu), tree.target(), atol=1e-9)
    after = np.linalg.matrix_power(referee.kernel, 7)[0]
    np.testing.assert_allclose(walk.after(7)[tree.leaves], referee.over_leaves(after), atol=1e-12)
    begins = [np.linalg.matrix_power(referee.kernel, t)[0] @ ~referee.leaf for t in range(7)]
    assert walk.calls(7) == pytest.approx(sum(begins) / 2)


def order(node):
    """Level by level, in the order of the alphabet."""
    return len(node), node


def test_proposals_until_one_is_accepted():
    """By summing over the number of refusals."""
    world, key = drawn(5, 2, 3)
    table = noisy_table(world, key, kappa=2.0)
    tree, referee = PrefixTree(world, table), Walk(world, table)
    envelope = 1.3 * tree.value.max()
    found = repeated_proposals(tree, envelope)
    for i, node in zip(np.flatnonzero(tree.alive), sorted(referee.nodes, key=order), strict=True):
        up = referee.value(node) / (2 * envelope) if node else 0
        down = np.zeros(2)
        if len(node) < 3:
            law = world.base[len(node), referee.state(node)]
            down = [law[a] * referee.value((*node, a)) / (2 * envelope) for a in range(2)]
        refused = 1 - up - sum(down)
        children = sum(0.5 * refused**k for k in range(10_000)) if len(node) < 3 else 0
        assert found[i] == pytest.approx(children)
    with pytest.raises(ValueError, match=r"the envelope is 0\.001; the largest value is"):
        repeated_proposals(tree, 0.001)
    with pytest.raises(ValueError, match=r"the bound is 0\.5; it must be at least"):
        HoldingWalk(tree, 0.5)
    dead = table.copy()
    dead[0] = -np.inf
    with pytest.raises(ValueError, match="the root has the value 0"):
        HoldingWalk(PrefixTree(world, dead))


@given(st.integers(0, 10**6))
def test_plain_guidance_by_multiplying_along_every_string(seed):
    world, key = drawn(seed)
    table = noisy_table(world, key, kappa=5.0)
    law = PrefixTree(world, table).plain_law()
    for code, string in enumerate(itertools.product(range(world.vocab), repeat=world.horizon)):
        chance, state = 1.0, 0
        for h, token in enumerate(string):
            weights = world.base[h, state] * np.exp(table[h + 1, world.step[h, state]])
            chance *= weights[token] / weights.sum() if weights.sum() > 0 else 0
            state = world.step[h, state, token]
        assert law[code] == pytest.approx(chance, abs=1e-12)


@given(st.integers(0, 10**6))
def test_automaton_states_agree_with_their_tree(seed):
    """Random automata, with impossible tokens, dead ends and values of zero."""
    rng = np.random.default_rng(seed)
    H, S, K = int(rng.integers(1, 5)), 3, int(rng.integers(1, 4))
    base = rng.dirichlet(np.ones(K), size=(H, S)) * (rng.random((H, S, K)) < 0.8)
    base[..., 0] += 0.05
    base /= base.sum(axis=-1, keepdims=True)
    tilt = np.log(rng.uniform(0.1, 2, size=S))
    tilt[1] = -np.inf
    world = GuidedWorld(rng.integers(0, S, size=(H, S, K)), base, tilt)
    if world.log_partition() == -np.inf:
        return
    table = world.log_values() + rng.normal(size=(H + 1, S))
    table[1:-1][rng.random((H - 1, S)) < 0.15] = 0.3  # also after dead ends
    tree, lumped = PrefixTree(world, table), LumpedTree(world, table)
    assert lumped.leaf_mass() == pytest.approx(tree.leaf_mass(), rel=1e-10)
    assert lumped.hitting_time() == pytest.approx(tree.hitting_time(), rel=1e-10)
    assert lumped.kl_first_leaf() == pytest.approx(
        kl(tree.target(), tree.first_leaf_law()), abs=1e-10
    )
    wanted = kl(tree.target(), tree.plain_law())
    assert lumped.kl_plain() == pytest.approx(wanted, abs=1e-10)


def test_a_star():
    for K, gap in ((3, 0.5), (1, 1.0)):
        tree = PrefixTree(random_tree(jax.random.key(0), K, 1))
        assert tree.leaf_mass() == pytest.approx(0.5) and tree.gap() == pytest.approx(gap)
        assert mixing.exact_gap(tree) == pytest.approx(gap)
        assert tree.hitting_time() == pytest.approx(1)


def test_a_path():
    for H in (2, 5, 9):
        tree = PrefixTree(random_tree(jax.random.key(0), 1, H))
        assert tree.gap() == pytest.approx(0.5 * (1 - np.cos(np.pi / H)))
        assert tree.hitting_time() == pytest.approx(H * H)


def test_the_gap_of_exact_values():
    for seed in range(6):
        tree = PrefixTree(drawn(seed, 2, 5, zeros=0.5)[0])
        assert tree.gap() == pytest.approx(mixing.exact_gap(tree), abs=1e-12)


def test_a_value_of_zero_cuts_a_subtree_off():
    world = biased_coin(3).unfolded()
    table = world.log_values()
    table[1, 0] = -np.inf  # the prefix 0
    tree = PrefixTree(world, table)
    assert tree.lost_mass() == pytest.approx(0.5)
    assert not tree.alive[tree.leaves][:4].any() and tree.leaf_law()[:4].sum() == 0
    assert tree.first_leaf_law().sum() == pytest.approx(1) and tree.plain_law()[:4].sum() == 0
    assert PrefixTree(world).lost_mass() == 0


def test_a_dead_end_with_a_value_is_left_again_by_the_walk_but_fails_plain_guidance():
    """Secret parity with values of one everywhere inside: all last weights are zero off the secret."""
    world = secret_parity([1, 0])
    table = np.where(world.feasible(oracle=False), 0.0, -np.inf)
    table[-1] = world.log_values()[-1]
    tree = PrefixTree(world, table)
    assert tree.plain_law().sum() == pytest.approx(1 / 4)  # the rest fails
    assert tree.first_leaf_law()[0b101] == pytest.approx(1)
    law, steps = Walk(world, table).first_leaf()
    assert law[0b101] == pytest.approx(1) and tree.hitting_time(lazy=True) == pytest.approx(steps)
    assert guided.first_leaf(tree).holds
    for statement in (guided.law_of_the_leaves, guided.plain_guidance, guided.gap_bounds):
        found = statement(tree)
        assert found.holds is None and "only one of V and V* is zero" in str(found)


def test_nothing_to_find_is_said():
    world = random_tree(jax.random.key(0), 2, 3, zero_tilts=1.0)
    with pytest.raises(ValueError, match="every child of the root has the value zero"):
        PrefixTree(world).stationary()
    with pytest.raises(ValueError, match="no string of positive probability"):
        PrefixTree(world).target()
    inside = np.zeros_like(world.log_values())
    inside[-1] = -np.inf
    with pytest.raises(ValueError, match="no leaf is ever reached"):
        PrefixTree(world, inside).first_leaf_law()
    with pytest.raises(ValueError, match="no leaf of positive value"):
        LumpedTree(world, inside).hitting_time()
    with pytest.raises(ValueError, match="log_table has shape"):
        PrefixTree(world, inside[:-1])


def test_biased_coin_after_many_steps():
    """Total variation of y^(T) given a leaf at T = 64, 128, 256, 384 for H = 8; 0.05 at T = 42 and 85."""
    world = biased_coin(8)
    leaves = mixing.tv_curve(PrefixTree(world, biased_coin_table(world, 0.5)), 384)[1]
    np.testing.assert_allclose(
        leaves[[64, 128, 256, 384]], [0.12096, 0.05479, 0.01619, 0.00569], atol=5e-6
    )
    for H, first in ((4, 42), (6, 85)):
        world = biased_coin(H)
        leaves = mixing.tv_curve(PrefixTree(world, biased_coin_table(world, 0.5)), 100)[1]
        assert np.flatnonzero(np.nan_to_num(leaves, nan=1) <= 0.05)[0] == first


def test_biased_coin_with_four_bits_by_powers_of_the_kernel():
    """T = 6 H^2 = 96: 0.01005, which rounds to .0100."""
    world = biased_coin(4)
    walk = Walk(
        world.unfolded(), biased_coin_table(world, 0.5)[np.arange(5)[:, None], _last_bits(4)]
    )
    law = walk.over_leaves(np.linalg.matrix_power(walk.kernel, 96)[0])
    assert tv(law / law.sum(), np.full(16, 1 / 16)) == pytest.approx(0.010048, abs=1e-6)


def _last_bits(H):
    """For the unfolded coin: the state of the coin after every prefix, padded."""
    table = np.zeros((H + 1, 2**H), int)
    for h in range(1, H + 1):
        table[h, : 2**h] = np.arange(2**h) % 2
    return table


@pytest.mark.parametrize("H", [1, 2, 5, 9])
def test_closed_forms_against_trees(H):
    coin, late = biased_coin(H), delayed_value(H, 3.0)
    for world, table, closed in (
        (coin, biased_coin_table(coin, 0.3), biased_coin_errors(H, 0.3)),
        (late, delayed_table(late, 3.0), delayed_errors(H, 3.0)),
    ):
        tree = PrefixTree(world, table)
        found = tree.amplification()
        assert found.kl_plain == pytest.approx(closed.kl_plain, abs=1e-12)
        assert found.kl_first_leaf == pytest.approx(closed.kl_first_leaf, abs=1e-12)
        assert tree.hitting_time() == pytest.approx(closed.hitting_time, rel=1e-12)
        assert tree.leaf_mass() == pytest.approx(closed.leaf_mass, rel=1e-12)


def test_long_horizons():
    coin, weak, late = (
        biased_coin_errors(4096, 0.5),
        biased_coin_errors(4096, 0.2),
        delayed_errors(1024, 3.0),
    )
    assert coin.kl_plain == pytest.approx(589.03, abs=5e-3)
    assert coin.kl_first_leaf == pytest.approx(0.104047, abs=5e-7)
    assert weak.kl_plain == pytest.approx(83.58, abs=5e-3)
    assert weak.kl_first_leaf == pytest.approx(0.013377, abs=5e-7)
    assert late.kl_plain == pytest.approx(133.8207, abs=5e-5)
    assert late.kl_first_leaf == pytest.approx(0.057487, abs=5e-7)
    world = biased_coin(512)
    lumped = LumpedTree(world, biased_coin_table(world, 0.5))
    assert lumped.kl_first_leaf() == pytest.approx(
        biased_coin_errors(512, 0.5).kl_first_leaf, rel=1e-10
    )


def test_weak_verifiers_stall():
    world = needle(8)
    tree = PrefixTree(world, np.where(world.feasible(), 0.0, -np.inf))
    assert tree.hitting_time() == pytest.approx(996) == needle_costs(8).vgb
    assert tree.leaf_mass() == pytest.approx(needle_costs(8).leaf_mass)


def test_biased_coin_reference_numbers():
    """Bias .5 at H = 4, 6, 8, 10: total variation and KL of plain guidance and the first leaf, and time."""
    trees = [
        PrefixTree(biased_coin(H), biased_coin_table(biased_coin(H), 0.5)) for H in (4, 6, 8, 10)
    ]
    wanted = {
        "tv_plain": (0.34375, 0.4453125, 0.529846, 0.580368),
        "kl_plain": (0.431523, 0.719205, 1.006887, 1.294569),
        "tv_first_leaf": (0.156461, 0.166165, 0.170505, 0.173204),
        "kl_first_leaf": (0.071559, 0.082271, 0.087746, 0.091048),
    }
    for name, values in wanted.items():
        found = [getattr(tree.amplification(), name) for tree in trees]
        np.testing.assert_allclose(found, values, atol=5.1e-7)
    times = [tree.hitting_time() for tree in trees]
    np.testing.assert_allclose(times, (18.1559, 42.0787, 76.2426, 120.7483), atol=5.1e-5)
    np.testing.assert_allclose([tree.leaf_mass() * 2 * tree.horizon for tree in trees], 1)


def test_some_zero_reference_numbers():
    """Feasibility as value: total variation of plain guidance and of the first leaf at D = 2, 3, 6."""
    for D, plain, first in ((2, 1 / 6, 0.066667), (3, 0.107143, 0.044643), (6, 0.015377, 0.009462)):
        world = some_zero(D)
        tree = PrefixTree(world, np.where(world.feasible(), 0.0, -np.inf))
        distances = tree.amplification()
        assert distances.tv_plain == pytest.approx(plain, abs=5.1e-7)
        assert distances.tv_first_leaf == pytest.approx(first, abs=5.1e-7)
        assert tv(tree.leaf_law(), tree.target()) < 1e-12


def test_values_on_another_scale():
    """`V = s^h V*` at H = 5: leaf mass .258, .100, .016 and 50.9, 25, 69.3 steps for s = 1/2, 1, 2."""
    for scale, mass, steps in ((0.5, 0.258, 50.9), (1.0, 0.1, 25.0), (2.0, 0.016, 69.3)):
        moved = guided.scaled_below_the_leaves(biased_coin(5), scale)
        assert moved.holds
        assert moved.details["leaf_mass"] == pytest.approx(mass, abs=5.1e-4)
        assert moved.details["steps"] == pytest.approx(steps, abs=0.051)


def test_noisy_dyck_reference_numbers():
    world = noisy_dyck(6)
    assert np.exp(world.log_partition()) == pytest.approx(0.636056, abs=5e-7)
    assert world.tilted().base[0, 0, 0] == pytest.approx(0.162791, abs=5e-7)  # square, under pi*
    exact = PrefixTree(world)
    assert exact.leaf_mass() == pytest.approx(1 / 12) and exact.hitting_time() == pytest.approx(36)
    tree = PrefixTree(world, np.where(world.feasible(), 0.0, -np.inf))
    found = tree.amplification()
    assert found.tv_plain == pytest.approx(0.083966, abs=5e-7)
    assert found.tv_first_leaf == pytest.approx(0.031401, abs=5e-7)
    assert tree.leaf_mass() == pytest.approx(0.063409, abs=5e-7)
    assert tree.hitting_time() == pytest.approx(43.2608, abs=5e-5)
    assert tv(tree.leaf_law(), tree.target()) < 1e-14


def test_searching_for_a_secret():
    """Every deterministic order is as good: average over all secrets and orders of four candidates."""
    counts = [
        min(order.index(secret) + 1, 3)
        for order in itertools.permutations(range(4))
        for secret in range(4)
    ]
    assert np.mean(counts) == float(parity_queries(4)) == 2.25
    for N in (1, 2, 16, 128):
        assert fewest_queries(N) == parity_queries(N)
    assert parity_queries(8, confirm=True) == 4.5


def test_distances():
    p, q = np.array([0.5, 0.5]), np.array([0.25, 0.25])
    assert tv(p, q) == pytest.approx(0.5)  # half of the mass is a failure
    assert kl(p, p) == 0 and kl(p, np.array([1.0, 0.0])) == float("inf")
