"""The study: its sources, its headline findings, and slips of the source that its context puts right."""

from minicosm.lab import Study

STUDY = Study(
    name="guided",
    title="Verifier-guided generation: what a verifier buys, and how to use one that errs",
    source=(
        "Y. Li's thesis, chapter 3, after E. Botta, Y. Li, A. Mehta, J. T. Ash, C. Zhang, A. Risteski: On "
        "the query complexity of verifier-assisted language generation. ICML 2025, and D. Rohatgi et al.: "
        "Taming imperfect process verifiers: a sampling perspective on backtracking. 2025"
    ),
    about=(
        "A generator draws strings token by token, a verifier scores unfinished ones. How many calls to "
        "the generator does a constrained string take without the verifier and with it, and which sampler "
        "comes closest to the wanted law if the verifier errs: rejection, rejection per token, "
        "backtracking, or a reversible walk on the tree of prefixes (VGB)? In small worlds every value, "
        "law and cost is exact; the rest is measured on trained generators and verifiers."
    ),
    headlines=(
        "guided/proposition-3.1.1",
        "guided/vgb-leaves",
        "guided/linear-growth",
        "guided/dyck-fewer-errors",
        "guided/cases-backtracking-beats-baseline",
    ),
    misprints=(
        "Proof of Theorem 3.1.1: the bound is printed as $2^{n-1}$; $n$ is $D$.",
        r"Proof of Proposition 3.1.2: “all other strings in $\Sigma^D$” are those of $A$ ($1 "
        r"\dots 1$ has probability zero), and the proposition needs $D \ge 2$.",
        "Section 3.2.2.1: the largest query count 38,400 leaves out the tokens that backtracking "
        "erases and refills, up to $QB$ for each completion; Table 3.13 has 39,443 and 39,629 for "
        "$Q = B = 4$.",
        "Table 3.5: what is called a standard error (3.06 to 3.29) is probably a standard deviation over "
        "prompts; the standard error of a mean of 100 numbers between 1 and 10 is below 0.46.",
    ),
    aliases=("guided-generation",),
)

THESIS = "Y. Li's thesis"
VGB = f"{THESIS}, Section 3.3.1 (Rohatgi et al. 2025)"
DERIVED = f"added to {THESIS}, Algorithm 2"
IDENTITY = "The largest error over all worlds is at most $10^{-9}$."
BOUND = "No world is below the bound by more than $10^{-9}$."
