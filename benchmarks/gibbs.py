"""How fast spins of a large clique are resampled, against NumPy.

    python benchmarks/gibbs.py [--spins 256] [--chains 1000] [--sweeps 50]

A sweep resamples every spin once, in order, in every chain. NumPy does the same in three ways: chain after
chain, spin after spin, from a row of couplings (the loop one writes first); all chains at once, from a row
of couplings; and all chains at once with the sum of the spins kept, the algorithm of ours. Then the k-Gibbs
sampler, which redraws k spins together. All take turns in one process and are timed in processor time, with
one thread for NumPy's products, so that other programs change the ratios little. Before any timing, the
number of + spins of every implementation is compared with the exact law.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax
import numpy as np
from scipy.special import gammaln

from minicosm.decoding.cliques import block_table, clique_blocks, clique_sweeps
from minicosm.decoding.gibbs import CliqueGibbs, run_chains
from minicosm.worlds import CliqueIsing


def one_chain_at_a_time(rng, spins, J, h):
    """A sweep of [chains, N] spins, chain by chain: a vector product and an update per spin."""
    N = spins.shape[1]
    for x in spins:
        u = rng.random(N)
        for i in range(N):
            x[i] = 1 if u[i] < 1 / (1 + np.exp(-2 * (h + J[i] @ x))) else -1
    return spins


def all_chains_by_rows(rng, spins, J, h):
    """A sweep of [N, chains] spins: a row of couplings times all chains per spin."""
    for i in range(len(spins)):
        field = h + J[i] @ spins
        spins[i] = np.where(rng.random(spins.shape[1]) < 1 / (1 + np.exp(-2 * field)), 1, -1)
    return spins


def all_chains_by_sums(rng, spins, J, h):
    """A sweep of [N, chains] spins that keeps their sum: no couplings are read."""
    total, coupling = spins.sum(axis=0), J[0, 1]
    for i in range(len(spins)):
        rest = total - spins[i]
        up = rng.random(spins.shape[1]) < 1 / (1 + np.exp(-2 * (h + coupling * rest)))
        spins[i] = np.where(up, 1, -1)
        total = rest + spins[i]
    return spins


def k_gibbs_by_hand(rng, spins, k, coupling, h):
    """One step of k-Gibbs on [chains, N] spins, chain by chain, as one writes it in NumPy."""
    N = spins.shape[1]
    v = np.arange(k + 1)
    choose = gammaln(k + 1) - gammaln(v + 1) - gammaln(k - v + 1)
    for x in spins:
        hidden = rng.permutation(N)[:k]
        total = x.sum() - x[hidden].sum() + 2 * v - k
        weights = choose + coupling * total**2 / 2 + h * total
        weights = np.exp(weights - weights.max())
        up = rng.choice(k + 1, p=weights / weights.sum())
        x[hidden] = -1
        x[hidden[:up]] = 1  # a random order already
    return spins


def k_gibbs_all_chains(rng, spins, table, k):
    """The same for all chains at once: random keys choose, a table holds the laws of the number."""
    hidden = rng.random(spins.shape, dtype=np.float32).argpartition(k - 1, axis=1)[:, :k]
    hidden = rng.permuted(hidden, axis=1)
    others = (spins > 0).sum(axis=1) - (np.take_along_axis(spins, hidden, axis=1) > 0).sum(axis=1)
    up = (table[others] <= rng.random((len(spins), 1))).sum(axis=1)
    new = np.where(np.arange(k) < np.minimum(up, k)[:, None], 1, -1).astype(spins.dtype)
    np.put_along_axis(spins, hidden, new, axis=1)
    return spins


def law_error(plus: np.ndarray, world: CliqueIsing) -> float:
    """Standard errors between the mean number of + spins and the exact one."""
    law = np.exp(world.lumped().log_law)
    s = np.arange(len(law))
    mean, variance = law @ s, law @ (s - law @ s) ** 2
    return abs(plus.mean() - mean) / np.sqrt(variance / len(plus))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    jax.block_until_ready(work())
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Gibbs sampling of a clique against NumPy")
    parser.add_argument("--spins", type=int, default=256)
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--sweeps", type=int, default=50)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--k", type=int, default=16)
    a = parser.parse_args()
    N, chains = a.spins, a.chains
    coupling, h = 0.5 / N, 0.05  # below the transition: chains forget their start in a few sweeps
    world = CliqueIsing(N, N, coupling, h)
    J = coupling * (1 - np.eye(N))
    rng = np.random.default_rng(0)
    start = np.where(rng.random((N, chains)) < 0.5, 1, -1)
    key = jax.random.key(0)

    def ours(sweeps: int):
        return clique_sweeps(key, start, coupling, h, sweeps)

    gibbs = CliqueGibbs(world, a.k)
    rows = np.ascontiguousarray(start.T).astype(np.int32)

    def ours_together(steps: int):
        return clique_blocks(key, start, coupling, h, a.k, steps)

    def as_chains(steps: int):
        return run_chains(gibbs, key, rows, steps)

    by_rows, by_sums, single = start.astype(float), start.copy(), rows[:50].astype(float)
    for _ in range(30):
        all_chains_by_rows(rng, by_rows, J, h)
        all_chains_by_sums(rng, by_sums, J, h)
    for _ in range(4):  # fewer: it is slow, and 4 sweeps forget enough for 50 chains
        one_chain_at_a_time(rng, single, J, h)
    together = np.asarray(ours_together(20 * N // a.k))
    chained = np.asarray(as_chains(20 * N // a.k))
    few, all_rows, table = rows[:100].copy(), rows.copy(), block_table(N, a.k, coupling, h)
    for _ in range(20 * N // a.k):
        k_gibbs_all_chains(rng, all_rows, table, a.k)
    laws = {
        "ours": (np.asarray(ours(30)) > 0).sum(axis=0),
        "ours, k-Gibbs": (together > 0).sum(axis=0),
        "ours, as chains": (chained > 0).sum(axis=1),
        "NumPy, k-Gibbs": (all_rows > 0).sum(axis=1),
        "NumPy, rows": (by_rows > 0).sum(axis=0),
        "NumPy, sums": (by_sums > 0).sum(axis=0),
        "NumPy, one chain": (single > 0).sum(axis=1),
    }
    for name, plus in laws.items():
        print(
            f"  {name:18s} mean number of + spins is {law_error(plus, world):.1f} s.e. from exact"
        )

    jax.block_until_ready(ours(a.sweeps))
    steps = 50
    jax.block_until_ready((ours_together(steps), as_chains(5)))
    times: dict[str, list[float]] = {
        name: [] for name in ("ours", "sums", "rows", "single", "k", "chain", "all", "K")
    }
    part = 10  # chains of the slowest loop, scaled
    slow = rows[:part].astype(float)
    for _ in range(a.turns):
        times["ours"].append(seconds(lambda: ours(a.sweeps)) / a.sweeps)
        times["sums"].append(seconds(lambda: all_chains_by_sums(rng, by_sums, J, h)))
        times["rows"].append(seconds(lambda: all_chains_by_rows(rng, by_rows, J, h)))
        times["single"].append(
            seconds(lambda: one_chain_at_a_time(rng, slow, J, h)) * chains / part
        )
        times["k"].append(seconds(lambda: ours_together(steps)) / steps)
        times["chain"].append(seconds(lambda: as_chains(5)) / 5)
        times["all"].append(seconds(lambda: k_gibbs_all_chains(rng, all_rows, table, a.k)))
        times["K"].append(
            seconds(lambda: k_gibbs_by_hand(rng, few, a.k, coupling, h)) * chains / len(few)
        )
    best = {name: min(values) for name, values in times.items()}

    def ratio(name: str, to: str = "ours") -> float:
        return float(np.median(np.array(times[name]) / np.array(times[to])))

    print(f"{N} spins, {chains} chains: a sweep of all spins of all chains")
    print(f"  ours                           {1e3 * best['ours']:9.2f} ms")
    print(
        f"  NumPy, all chains, sums kept   {1e3 * best['sums']:9.2f} ms   ({ratio('sums'):.1f} x)"
    )
    print(
        f"  NumPy, all chains, rows of J   {1e3 * best['rows']:9.2f} ms   ({ratio('rows'):.1f} x)"
    )
    print(
        f"  NumPy, chain after chain       {1e3 * best['single']:9.2f} ms   ({ratio('single'):.0f} x)"
    )
    print(f"k-Gibbs, k = {a.k}: one step of all chains")
    print(f"  ours                           {1e3 * best['k']:9.2f} ms")
    print(
        f"  ours, `CliqueGibbs` under vmap {1e3 * best['chain']:9.2f} ms   ({ratio('chain', 'k'):.1f} x)"
    )
    print(
        f"  NumPy, all chains at once      {1e3 * best['all']:9.2f} ms   ({ratio('all', 'k'):.1f} x)"
    )
    print(f"  NumPy, chain after chain       {1e3 * best['K']:9.2f} ms   ({ratio('K', 'k'):.1f} x)")


if __name__ == "__main__":
    main()
