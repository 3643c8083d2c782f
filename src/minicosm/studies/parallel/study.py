"""The study's name and source."""

from minicosm.lab import Study

STUDY = Study(
    name="parallel-decoding",
    title="Masked pseudolikelihood, block dynamics and parallel decoding",
    source=(
        "Y. Li, A. Kirchmeyer, A. Mehta, Y. Qin, B. Dadachev, K. Papineni, S. Kumar, A. Risteski: Promises "
        "and pitfalls of generative masked language modeling. ICML 2024; Chapter 4 of Y. Li's thesis"
    ),
    about=(
        "A masked language model learns how hidden positions follow from the others and generates by "
        "running a Markov chain built from what it learned. In laws that can be written out, both are "
        "exact: how much a masked example teaches, how fast the chain mixes, what a Transformer that "
        "decodes all positions at once can do and what it cannot. Every theorem is run on Ising worlds "
        "and others, beside the statements that are wrong as printed."
    ),
)
