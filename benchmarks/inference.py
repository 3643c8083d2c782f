"""Exact inference against hmmlearn and dynamax, and against the machine.

    python benchmarks/inference.py            # a few minutes
    python benchmarks/inference.py --quick    # the headline and a few cells

Competitors take turns within one run, so that a busy machine slows all of them; a ratio is the
median of the ratios of neighbouring turns. Results are compared before anything is timed.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dynamax.hidden_markov_model import inference as dynamax
from hmmlearn.hmm import CategoricalHMM
from rich.console import Console
from rich.table import Table

from minicosm.worlds import HMM, MemoryHMM

VOCAB = 10
console = Console(width=100)


def take_turns(
    calls: dict[str, Callable[[], Any]], turns: int, seconds: float = 20.0
) -> dict[str, list[float]]:
    """Wall times of every call, one of each in every turn; stops early after `seconds`."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    for turn in range(turns + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            if turn > 0:  # the first turn compiles and warms up
                times[name].append(time.perf_counter() - start)
        if turn > 0 and time.perf_counter() - begin > seconds:
            break
    return times


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))


def world_of(hidden: int) -> HMM:
    # Temperatures at which no probability is below float32, so that all libraries agree.
    return HMM.random(
        jax.random.key(hidden),
        hidden=hidden,
        vocab=VOCAB,
        transition_temperature=0.1,
        emission_temperature=0.1,
    )


def tokens_of(world: HMM | MemoryHMM, count: int, length: int) -> jax.Array:
    keys = jax.random.split(jax.random.key(1), count)
    return jax.jit(jax.vmap(lambda key: world.sample(key, length).tokens))(keys)


def dynamax_conditionals(world: HMM) -> dict[str, Callable[[jax.Array], jax.Array]]:
    """Dynamax's three ways to the same answer, each jitted and vmapped; it takes A transposed.

    Its smoothers give P[H_i | all tokens]; dividing by the emission leaves out the token itself.
    Its two filters give both factors directly. Log scales and transition counts that are not used
    are removed by the compiler.
    """
    A, W = jnp.asarray(world.A).T, jnp.asarray(world.W)
    first, log_W = world.first, jnp.log(W)

    def law(weights):
        return weights / jnp.sum(weights, axis=-1, keepdims=True) @ W.T

    def two_filters(tokens):
        rows = log_W[tokens]
        forward = dynamax.hmm_filter(first, A, rows).predicted_probs
        _, backward = dynamax.hmm_backward_filter(A, rows)
        return law(forward * backward)

    def smoother(tokens):
        return law(dynamax.hmm_smoother(first, A, log_W[tokens]).smoothed_probs / W[tokens])

    def two_filter_smoother(tokens):
        posterior = dynamax.hmm_two_filter_smoother(first, A, log_W[tokens])
        return law(posterior.smoothed_probs / W[tokens])

    return {
        "dynamax, filter and backward filter": jax.jit(jax.vmap(two_filters)),
        "dynamax, two-filter smoother": jax.jit(jax.vmap(two_filter_smoother)),
        "dynamax, smoother": jax.jit(jax.vmap(smoother)),
    }


def hmmlearn_model(world: HMM, implementation: str) -> CategoricalHMM:
    """The same world; hmmlearn's first state emits, so its start law is p_1 = A p0."""
    model = CategoricalHMM(world.hidden, n_features=world.vocab, implementation=implementation)
    model.startprob_ = world.A @ world.p0
    model.transmat_ = world.A.T
    model.emissionprob_ = world.W.T
    return model


PEAK_SIZE = 1024
PRODUCT = "large product"


def large_product() -> Callable[[], Any]:
    """A float32 matrix product that uses all cores: it takes its turn as the machine's peak."""
    x = jnp.ones((PEAK_SIZE, PEAK_SIZE))
    return partial(jax.jit(jnp.matmul), x, x)


def peak_fraction(work: float, times: Sequence[float], peak_times: Sequence[float]) -> float:
    """Operations per second as a fraction of those of the large product in the same turns."""
    return work / (2 * PEAK_SIZE**3) * ratio(peak_times, times)


def operations(hidden: int, tokens: int) -> float:
    """Multiplications and additions of the two recursions and the product with W."""
    return tokens * (4 * hidden**2 + 2 * hidden * VOCAB)


def check_equal(name: str, got: Any, wanted: Any) -> None:
    error = float(np.max(np.abs(np.asarray(got) - np.asarray(wanted))))
    if not error < 1e-5:
        raise SystemExit(f"{name} differs from minicosm by {error:.2g}; nothing was timed")


def headline(turns: int) -> None:
    count, length, hidden = 1024, 128, 30
    world = world_of(hidden)
    tokens = tokens_of(world, count, length)
    ours = jax.jit(jax.vmap(world.conditionals))
    peers = dynamax_conditionals(world)
    laws = ours(tokens)
    for name, peer in peers.items():
        check_equal(name, peer(tokens), laws)

    flat, lengths = np.asarray(tokens).reshape(-1, 1), [length] * count
    models = {
        "hmmlearn, default (log)": hmmlearn_model(world, "log"),
        'hmmlearn, implementation="scaling"': hmmlearn_model(world, "scaling"),
    }
    rows = world.W[np.asarray(tokens)].reshape(-1, hidden)
    for name, model in models.items():
        weights = model.predict_proba(flat, lengths) / rows
        conditionals = weights / weights.sum(axis=1, keepdims=True) @ world.W.T
        check_equal(name, conditionals, laws.reshape(-1, VOCAB))

    calls: dict[str, Callable[[], Any]] = {
        "minicosm": partial(ours, tokens),
        PRODUCT: large_product(),
    }
    calls |= {name: partial(peer, tokens) for name, peer in peers.items()}
    times = take_turns(calls, turns)
    slow = {name: calls[name] for name in ("minicosm", PRODUCT)} | {
        name: partial(model.predict_proba, flat, lengths) for name, model in models.items()
    }
    slow_times = take_turns(slow, max(2, turns // 10))

    table = Table(
        title="conditionals of 1,024 x 128 tokens, H = 30, V = 10, float32 (all equal to 1e-5)"
    )
    for column in ("", "best ms", "median ms", "median ratio to minicosm", "of matmul peak"):
        table.add_column(column, justify="left" if not column else "right")
    work = operations(hidden, count * length)
    for source in (times, slow_times):
        for name, each in source.items():
            if name == PRODUCT or (name == "minicosm" and source is slow_times):
                continue
            table.add_row(
                name,
                f"{min(each) * 1e3:.1f}",
                f"{statistics.median(each) * 1e3:.1f}",
                f"{ratio(each, source['minicosm']):.1f}",
                f"{peak_fraction(work, each, source[PRODUCT]):.1%}",
            )
    console.print(table)
    product = times[PRODUCT]
    rates = (
        2 * PEAK_SIZE**3 / seconds / 1e9 for seconds in (min(product), statistics.median(product))
    )
    console.print(
        "float32 matrix product in the same turns: {:.0f} (median {:.0f}) GFLOP/s".format(*rates)
    )


def sizes(turns: int, hiddens: Sequence[int], lengths: Sequence[int]) -> None:
    table = Table(title="time per token by size (growth: against the row and the length before)")
    for column in (
        "H", "T", "batch", "ns per token", "growth in H", "growth in T", "dynamax / ours",
        "of matmul peak",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    seen: dict[tuple[int, int], float] = {}
    for h, hidden in enumerate(hiddens):
        world = world_of(hidden)
        ours = jax.jit(jax.vmap(world.conditionals))
        peer = dynamax_conditionals(world)["dynamax, filter and backward filter"]
        for t, length in enumerate(lengths):
            # As many tokens as keep every array under 80 MB.
            count = max(1, min(1024, 20_000_000 // (length * hidden)))
            tokens = tokens_of(world, count, length)
            check_equal("dynamax", peer(tokens), ours(tokens))
            times = take_turns(
                {
                    "ours": partial(ours, tokens),
                    "peer": partial(peer, tokens),
                    PRODUCT: large_product(),
                },
                turns,
                15,
            )
            best = min(times["ours"]) / (count * length)
            seen[hidden, length] = best
            in_h = best / seen[hiddens[h - 1], length] if h else None
            in_t = best / seen[hidden, lengths[t - 1]] if t else None
            table.add_row(
                str(hidden),
                f"{length:,}",
                f"{count:,}",
                f"{best * 1e9:.0f}",
                f"{in_h:.1f}x" if in_h else "",
                f"{in_t:.1f}x" if in_t else "",
                f"{ratio(times['peer'], times['ours']):.1f}",
                f"{peak_fraction(operations(hidden, count * length), times['ours'], times[PRODUCT]):.1%}",
            )
    console.print(table)


def memory(turns: int) -> None:
    table = Table(title="memory worlds, 256 x 64 tokens: blocks against the expanded chain")
    for column in ("cells", "values", "states", "expanded", "blocks ms", "expanded ms", "ratio"):
        table.add_column(column, justify="right")
    for cells, values in ((1, 8), (2, 5), (2, 10)):
        world = MemoryHMM.random(
            jax.random.key(0), hidden=4, memory=values, cells=cells, vocab=VOCAB,
            transition_temperature=0.1, emission_temperature=0.1,
        )  # fmt: skip
        expanded = world.as_hmm()
        tokens = tokens_of(world, 256, 64)
        blocks, chain = (jax.jit(jax.vmap(w.conditionals)) for w in (world, expanded))
        check_equal("the expanded chain", chain(tokens), blocks(tokens))
        times = take_turns(
            {"blocks": partial(blocks, tokens), "chain": partial(chain, tokens)},
            turns,
        )
        table.add_row(
            str(cells),
            str(values),
            str(world.hidden),
            str(expanded.hidden),
            f"{min(times['blocks']) * 1e3:.1f}",
            f"{min(times['chain']) * 1e3:.1f}",
            f"{ratio(times['chain'], times['blocks']):.1f}",
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns and fewer sizes")
    quick = parser.parse_args().quick
    headline(10 if quick else 40)
    memory(5 if quick else 20)
    if quick:
        sizes(3, (4, 30), (128, 1024))
    else:
        sizes(10, (4, 30, 100, 300), (128, 1024, 10_000))


if __name__ == "__main__":
    main()
