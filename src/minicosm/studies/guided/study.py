"""The study's name and source."""

from minicosm.lab import Study

STUDY = Study(
    name="guided-generation",
    title="Verifier-guided generation: what a verifier buys, and how to use one that errs",
    source=(
        "E. Botta, Y. Li, A. Mehta, J. T. Ash, C. Zhang, A. Risteski: On the query complexity of "
        "verifier-assisted language generation. ICML 2025; D. Rohatgi et al.: Taming imperfect process "
        "verifiers: a sampling perspective on backtracking. 2025; both as chapter 3 of a thesis"
    ),
    about=(
        "A generator draws strings token by token, a verifier scores unfinished ones. How many calls to "
        "the generator does a constrained string take without the verifier and with it, and which sampler "
        "comes closest to the wanted law if the verifier errs: rejection, rejection per token, "
        "backtracking, or a reversible walk on the tree of prefixes (VGB)? Small worlds have every value, "
        "law and cost exactly, beside the statements that are wrong as printed; the rest is measured on "
        "trained generators and verifiers."
    ),
)
