"""Probabilities of sentences of a grammar against NLTK's chart parser.

    python benchmarks/grammars.py             # half a minute

256 sentences of 64 tokens from cfg3b below its symbol 16, in double precision. Results are compared before
anything is timed; both take turns, so that a busy machine slows both.
"""

import jax
import nltk
import numpy as np
from inference import ratio, take_turns

from minicosm.worlds import LayeredPCFG

COUNT, LENGTH = 256, 64


def nltk_parser(world: LayeredPCFG) -> nltk.InsideChartParser:
    """NLTK's parser of the same grammar."""
    lines = []
    for height, layer in enumerate(world.grammar.layers, start=2):
        rules = zip(layer.parents, layer.children, layer.probabilities, strict=True)
        for parent, children, p in rules:
            below = [f"'{c}'" if height == 2 else f"N{height - 1}x{c}" for c in children]
            lines.append(f"N{height}x{parent} -> {' '.join(below)} [{p:.17g}]")
    lines.sort(key=lambda line: not line.startswith(f"N{world.height}x0"))
    return nltk.InsideChartParser(nltk.PCFG.fromstring("\n".join(lines)))


def main() -> None:
    world = LayeredPCFG.named("cfg3b", 16)
    parser = nltk_parser(world)
    with jax.enable_x64(True):
        draw = jax.jit(jax.vmap(lambda key: world.sample(key, LENGTH).tokens))
        tokens = draw(jax.random.split(jax.random.key(0), COUNT))
        words = [[str(t) for t in row] for row in np.asarray(tokens)]
        inside = jax.jit(jax.vmap(world.log_prob))

        def parse() -> np.ndarray:
            return np.array([sum(tree.prob() for tree in parser.parse(row)) for row in words])

        error = np.max(np.abs(np.exp(np.asarray(inside(tokens))) / parse() - 1))
        print(f"largest relative difference {error:.1e}")
        times = take_turns({"nltk": parse, "ours": lambda: inside(tokens)}, 5)
    print(f"NLTK {np.median(times['nltk']):.2f} s, ours {np.median(times['ours']):.4f} s")
    print(f"ratio {ratio(times['nltk'], times['ours']):.0f}")


if __name__ == "__main__":
    main()
