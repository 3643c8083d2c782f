"""Speed of a training step of the Transformer against torch's encoder of the same size, in one run.

    python benchmarks/transformer.py [--width 64] [--threads 2] [--repeats 5]

Both take the same AdamW steps on batches of 32 sequences of 149 tokens: 2 pre-norm layers, 4 heads,
an MLP of 4 x width, exact GELU, learned positions, no dropout, float32. Ours runs as it does in
training, several steps in one compiled loop. The two alternate and the best of the repeats counts,
in processor time, which other work on the machine disturbs least. Prints tokens per second, floating-
point operations of the matrix products as a fraction of the measured matmul peak, and the ratio.
"""

import argparse
import os
import time


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="training step: ours against torch")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=149)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--vocab", type=int, default=10)
    parser.add_argument("--steps", type=int, default=4, help="steps in one measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="cores that both may use")
    return parser.parse_args()


def matmul_flops(a: argparse.Namespace) -> int:
    """Multiplications and additions of one step: 2 per weight and token, thrice (backward twice)."""
    per_token = a.layers * (4 * a.width**2 + 8 * a.width**2 + 2 * a.length * a.width)
    return 6 * a.batch * a.length * (per_token + a.width * a.vocab)


def our_steps(a: argparse.Namespace):
    import jax
    import jax.numpy as jnp
    import optax

    from minicosm.models import Transformer, TransformerConfig

    config = TransformerConfig(
        a.vocab, layers=a.layers, heads=a.heads, width=a.width, max_length=a.length
    )
    model = Transformer(config, key=jax.random.key(0))
    optimiser = optax.adamw(1e-3)
    tokens = jax.random.randint(jax.random.key(1), (a.batch, a.length), 0, a.vocab)
    observed = jax.random.bernoulli(jax.random.key(2), 0.85, tokens.shape)

    def loss(model):
        logits = jax.vmap(lambda t, o: model.logits(model.embed(t, o)))(tokens, observed)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()

    def step(state, _):
        model, memory = state
        value, gradient = jax.value_and_grad(loss)(model)
        updates, memory = optimiser.update(gradient, memory, model)
        return (optax.apply_updates(model, updates), memory), value

    @jax.jit
    def run(state):
        return jax.lax.scan(step, state, length=a.steps)

    state = jax.tree.map(jnp.asarray, (model, optimiser.init(model)))
    start = time.process_time()
    compiled = run.lower(state).compile()
    print(f"compile: {time.process_time() - start:.1f} s of processor time")
    square = jax.jit(lambda x: x @ x)
    ones = jnp.ones((1024, 1024))
    return (
        lambda: jax.block_until_ready(compiled(state)),
        lambda: jax.block_until_ready(square(ones)),
    )


def torch_steps(a: argparse.Namespace):
    import torch

    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)  # as XLA does; denormal gradients made torch 10 times slower

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = torch.nn.Embedding(a.vocab + 1, a.width)
            torch.nn.init.normal_(self.tokens.weight, std=0.02)  # ours; its N(0, 1) saturates
            self.positions = torch.nn.Parameter(0.02 * torch.randn(a.length, a.width))
            layer = torch.nn.TransformerEncoderLayer(
                a.width, a.heads, 4 * a.width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.layers = torch.nn.TransformerEncoder(
                layer, a.layers, torch.nn.LayerNorm(a.width), enable_nested_tensor=False
            )
            self.bias = torch.nn.Parameter(torch.zeros(a.vocab))

        def forward(self, tokens):
            hidden = self.layers(self.tokens(tokens) + self.positions)
            return hidden @ self.tokens.weight[: a.vocab].T + self.bias

    model = Encoder()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
    targets = torch.randint(0, a.vocab, (a.batch, a.length))
    inputs = torch.where(torch.rand(targets.shape) < 0.85, targets, a.vocab)
    ones = torch.ones(1024, 1024)

    def run():
        for _ in range(a.steps):
            optimiser.zero_grad()
            logits = model(inputs).reshape(-1, a.vocab)
            torch.nn.functional.cross_entropy(logits, targets.reshape(-1)).backward()
            optimiser.step()

    return run, lambda: ones @ ones


def main() -> None:
    a = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-a.threads :])
    ours, our_square = our_steps(a)
    runs = {"minicosm": ours, "matmul (jax)": our_square}
    try:
        theirs, their_square = torch_steps(a)
        runs |= {"torch": theirs, "matmul (torch)": their_square}
    except ImportError:
        print("torch is not installed: no comparison (pip install torch==2.13.0)")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for repeat in range(a.repeats + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if repeat:  # the first round warms up
                times[name].append(time.process_time() - start)
    best = {name: min(taken) for name, taken in times.items()}
    peak = max(2 * 1024**3 / best[name] for name in best if name.startswith("matmul"))
    print(f"matmul peak: {peak / 1e9:.0f} GFLOP per second of processor time")
    for name in ("minicosm", "torch"):
        if name in best:
            tokens = a.steps * a.batch * a.length / best[name]
            share = a.steps * matmul_flops(a) / best[name] / peak
            worst = max(times[name]) / best[name]
            print(
                f"{name:9s} {tokens:8.0f} tokens/s  {share:5.1%} of the matmul peak"
                f"  (slowest repeat {worst:.2f} x the best)"
            )
    if "torch" in best:
        print(f"minicosm is {best['torch'] / best['minicosm']:.2f} x torch")


if __name__ == "__main__":
    main()
