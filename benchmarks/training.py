"""Speed of training: a masked language model against Hugging Face's BERT of the same size, and an
ensemble against its trials one after another.

Every comparison is a ratio within one run on the same cores. Who is compared takes turns, and the best
of the turns counts: in processor time on one core, which other work on the machine disturbs least, and
in wall time on several. Compilation is left out and printed apart.

Training steps: 2 layers, 4 heads, an MLP of 4 x width, 10 tokens, batches of 32 x 128, 15% of the
positions masked, AdamW, float32, no dropout. Ours is `MaskedObjective` on a corpus, by `fit`: drawing
and masking the sequences is part of its time. Hugging Face's takes the same ready batch every time.

JAX is asked to make a device of every core, and the batch (or the ensemble) is divided among them by a
mesh: XLA uses several cores only inside large operations. Gradients are added up over two halves of the
batch, so that what a core stores for the backward pass stays in its cache. The trials one after another
run in a process of their own, where JAX has both cores as one device, as it does by default.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

VOCAB, LAYERS, HEADS, LENGTH, BATCH, PIECES, RATE = 10, 2, 4, 128, 32, 2, 0.15
MEMBERS, STEPS = 8, 40
Run = Callable[[], Any]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python benchmarks/training.py --quick --cores 1",
    )
    parser.add_argument("--quick", action="store_true", help="fewer widths and turns")
    parser.add_argument("--widths", type=int, nargs="+", help="default: 32 64 128 256")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, help="default: 5, or 3 if quick")
    parser.add_argument(
        "--part",
        choices=("steps", "ensemble", "both", "alone"),
        default="both",
        help="alone: only the trials one after another",
    )
    a = parser.parse_args()
    a.widths = a.widths or ([32, 128] if a.quick else [32, 64, 128, 256])
    a.turns = a.turns or (3 if a.quick else 5)
    return a


def take_turns(runs: dict[str, Run], turns: int, cores: int) -> dict[str, float]:
    """Seconds of each run: the best of its turns, after one to warm up."""
    clock = time.process_time if cores == 1 else time.perf_counter
    best = dict.fromkeys(runs, float("inf"))
    for turn in range(turns + 1):
        for name, run in runs.items():
            start = clock()
            run()
            if turn:
                best[name] = min(best[name], clock() - start)
    return best


def matmul_flops(width: int) -> int:
    """Multiplications and additions of the matrix products of one step that computes all positions:
    2 per weight and token forward, twice that backward."""
    layer = 12 * width**2 + 2 * LENGTH * width
    return 6 * BATCH * LENGTH * (LAYERS * layer + width * VOCAB)


def mesh(axis: str):
    """All devices along one axis, or None if there is one."""
    import jax

    count = jax.device_count()
    return jax.make_mesh((count,), (axis,)) if count > 1 else None


def objective(seed: int = 0, pieces: int = PIECES):
    import jax

    from minicosm.training import MaskedObjective

    corpus = jax.random.randint(jax.random.key(seed), (1024, LENGTH), 0, VOCAB)
    return MaskedObjective(
        corpus=corpus, length=LENGTH, batch=BATCH // pieces, rate=RATE, measure=False
    )


def our_steps(config, steps: int) -> tuple[Run, float]:
    """`steps` steps of our model, and the seconds of processor time that compiling them takes."""
    import jax
    import optax

    from minicosm.models import Transformer
    from minicosm.training import fit

    model = Transformer(config, key=jax.random.key(1))
    loss, optimiser = objective(), optax.adamw(1e-3)

    def run():
        key = jax.random.key(2)
        return fit(
            loss, model, optimiser, steps, key,
            chunk=steps, accumulate=PIECES, sharding=mesh("batch"),
        )  # fmt: skip

    times = []
    for _ in range(2):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return run, times[0] - times[1]


def bert_steps(width: int, steps: int, cores: int) -> Run:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.set_num_threads(cores)
    torch.set_flush_denormal(True)  # as XLA does; denormal gradients made torch 10 times slower
    config = BertConfig(
        vocab_size=VOCAB + 1,  # and the mask
        hidden_size=width,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * width,
        max_position_embeddings=LENGTH,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForMaskedLM(config).train()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
    tokens = torch.randint(0, VOCAB, (BATCH, LENGTH))
    masked = torch.rand(tokens.shape).argsort(dim=1) < round(RATE * LENGTH)
    inputs, labels = tokens.masked_fill(masked, VOCAB), tokens.masked_fill(~masked, -100)

    def run():
        for _ in range(steps):
            optimiser.zero_grad()
            model(input_ids=inputs, labels=labels).loss.backward()
            optimiser.step()

    return run


def products(cores: int, with_torch: bool) -> dict[str, Run]:
    """Products of 1024 x 1024 matrices."""
    import jax
    import jax.numpy as jnp

    square = jax.jit(lambda x: x @ x)
    ones = jnp.ones((1024, 1024))
    runs: dict[str, Run] = {"product (jax)": lambda: jax.block_until_ready(square(ones))}
    if with_torch:
        import torch

        torch.set_num_threads(cores)
        same = torch.ones(1024, 1024)
        runs["product (torch)"] = lambda: same @ same
    return runs


def compare_steps(a: argparse.Namespace) -> None:
    from minicosm.models import TransformerConfig

    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401

        with_torch = True
    except ImportError:
        with_torch = False
        print("torch and transformers are not installed, so only ours is measured.")
    peak = 2 * 1024**3 / min(take_turns(products(a.cores, with_torch), 8, a.cores).values())
    print(f"matmul peak: {peak / 1e9:.0f} GFLOP per second\n")
    print("width  model                 tokens/s  of peak  compile  x Hugging Face")
    for width in a.widths:
        steps = max(2, 512 // width)
        shape: dict[str, Any] = {
            "layers": LAYERS, "heads": HEADS, "width": width, "max_length": LENGTH
        }  # fmt: skip
        configs = {
            "minicosm, BERT": TransformerConfig.bert(VOCAB, **shape),
            "minicosm, pre-norm": TransformerConfig(VOCAB, **shape),
        }
        runs, compiling = {}, {}
        for name, config in configs.items():
            runs[name], compiling[name] = our_steps(config, steps)
        if with_torch:
            runs["Hugging Face BERT"] = bert_steps(width, steps, a.cores)
        best = take_turns(runs, a.turns, a.cores)
        for name, seconds in best.items():
            tokens = steps * BATCH * LENGTH / seconds
            share = steps * matmul_flops(width) / seconds / peak
            line = f"{width:5d}  {name:18s}  {tokens:10,.0f}  {share:7.1%}"
            if name in compiling:
                line += f"  {compiling[name]:5.1f} s"
                if with_torch:
                    line += f"  {best['Hugging Face BERT'] / seconds:10.2f}"
            print(line, flush=True)
    print(
        "of peak: as if all positions were computed to the end; ours skips some in the last layer"
    )


def trials(width: int, members: int):
    """Losses, models and keys of some trials; a batch is 8 sequences, as in the studies."""
    import jax

    from minicosm.models import Transformer, TransformerConfig

    config = TransformerConfig(VOCAB, layers=LAYERS, heads=HEADS, width=width, max_length=LENGTH)
    keys = jax.random.split(jax.random.key(3), members)
    losses = [objective(seed, pieces=4) for seed in range(members)]
    return losses, [Transformer(config, key=key) for key in keys], keys


def alone(a: argparse.Namespace, width: int) -> float:
    """Seconds of the trials one after another."""
    import optax

    from minicosm.training import fit

    optimiser, each = optax.adamw(1e-3), list(zip(*trials(width, MEMBERS), strict=True))

    def run():
        for loss, model, key in each:
            fit(loss, model, optimiser, STEPS, key, chunk=STEPS)

    return take_turns({"alone": run}, a.turns, a.cores)["alone"]


def compare_ensemble(a: argparse.Namespace, width: int) -> None:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    from minicosm.training import fit_ensemble

    losses, models, keys = trials(width, MEMBERS)
    loss, model = jax.tree.map(
        lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0],
        *zip(losses, models, strict=True),
    )
    optimiser = optax.adamw(1e-3)

    def run():
        fit_ensemble(loss, model, optimiser, STEPS, keys, chunk=STEPS, sharding=mesh("ensemble"))

    together = take_turns({"ensemble": run}, a.turns, a.cores)["ensemble"]
    command = [sys.executable, __file__, "--part", "alone", "--widths", str(width)]
    command += ["--turns", str(a.turns), "--cores", str(a.cores)]
    apart = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(f"{MEMBERS} trials at width {width}: the ensemble is {apart / together:.2f} x one by one")


def main() -> None:
    a = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-a.cores :])
    import jax

    if a.part == "alone":
        print(alone(a, a.widths[0]))
        return
    jax.config.update("jax_num_cpu_devices", a.cores)
    clock = "processor time" if a.cores == 1 else "wall time"
    print(f"{a.cores} core{'s' * (a.cores > 1)}, {clock}, best of {a.turns} turns")
    if a.part != "ensemble":
        compare_steps(a)
    if a.part != "steps":
        for width in (32,) if a.quick else (16, 32):
            compare_ensemble(a, width)


if __name__ == "__main__":
    main()
