"""One bit of memory: the language, networks that solve it exactly, and where attention must fail."""

import jax

from minicosm.theory import flip_flop as theory
from minicosm.worlds import FlipFlop

world = FlipFlop(64, p_ignore=0.8)
print(world.text(world.sample(jax.random.key(0)).tokens))
print(f"a read is {world.mean_distance():.1f} pairs after its write")
print(f"the best model of the last 8 tokens: {world.window_error(8):.1%} of reads wrong")

theorem = theory.proposition_3(FlipFlop(12, p_ignore=0.8))  # two layers, one head, width 7
print(theorem.certify(strings=theory.all_strings(12)))
network = theory.two_layer_transformer(horizon=64)
for pairs in (31, 32):  # the bit is 63 and 65 tokens before the read
    wrong, reads = theory.wrong_reads(network, theory.distant_read(pairs)[None])
    print(f"T {2 * pairs + 4}: {wrong} of {reads} read wrong")
wrong, reads = theory.wrong_reads(theory.two_unit_lstm(), theory.distant_read(2000)[None])
print(f"LSTM of two units at T 4004: {wrong} of {reads} wrong")

for length in (10, 100, 1000):  # soft attention leaks
    print(f"largest weight at T {length}, norm 2: {theory.attention_bound(2, length):.3f}")
print(theory.proposition_5_solution(7.0, 0.001, longest=200))  # fails at length 85
