"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "Y. Li's thesis"

STUDY = Study(
    name="topics",
    title="How a one-layer Transformer learns topic structure",
    source=(
        "Y. Li: PhD thesis, Section 2.1; from Y. Li, Y. Li, A. Risteski: How do Transformers learn topic "
        "structure: towards a mechanistic understanding. ICML 2023"
    ),
    about=(
        "Documents whose only structure is that words come from topics, and a masked language model of one "
        "attention layer. Where is the structure stored, and in what order is it learned? In the embeddings "
        "alone, or in the value matrix and then in the attention: the optima are known in closed form, and "
        "models are trained under two losses and two optimisers to see whether they land there. The same "
        "measures are then applied to deeper models on text with overlapping topics, and to a user's own."
    ),
    headlines=(
        "topics/figure-2.1",
        "topics/theorem-2.1.2",
        "topics/figure-2.4",
        "topics/figure-2.8",
        "topics/loss-ladder",
        "topics/table-2.3-attention",
    ),
    misprints=(
        r"Section 2.1.1, softmax: the denominator sums over the second index; $\sigma$ is column-wise, and "
        r"$\sum_i A_{ij} = 1$ is used later.",
        r"Theorem 2.1.3, both statements: $\lambda_1$ has the factor $1 + (1 - p_c) p_m$; the proof's $c_5$ "
        r"gives $1 - 2 (1 - p_c) p_m$. The theorem holds with either.",
        r"(2.23) and (2.27): the remainder is printed $O(1/T)$; the terms left out are "
        r"$O(1/\tau + \tau/T)$, as in (2.33). Only $o(1)$ is used.",
        r"Display before (2.27): one denominator has $p_1 \gamma v$ for $p_2 \gamma v$; the next line has it "
        "right.",
        r"(2.10) and the displays of $W^V y$ and $D^V y$: indices run to $Tv$, printed $Tv + 1$.",
        "Theorem 2.1.1 in the main text: the bias is that of words only, as the restatement says.",
        "Remark 2.1.8: the norm of the penalty is squared, as in (2.2); the Hessian has rank 1 for each "
        "document and output, $T$ over all documents. Its conclusion stands.",
        "Definition 2.1.2: for the matrix to be the only one, row 0 has to be zero too, as the proof has it.",
    ),
    aliases=("topic-model",),
)
