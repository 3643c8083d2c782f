"""Networks that remember a bit: Section 3.5.7.1."""

from minicosm.lab import holds

from ..figures.exact import constants_figure
from ..study import STUDY, THESIS
from ..trials import networks

claim = STUDY.section(__doc__)

PLACE = f"{THESIS}, Section 3.5.7.1, Proposition 3"
STRINGS = (
    "on all strings of up to 12 tokens, and on samples of FFL(.1), FFL(.8) and FFL(.98) up to 512 tokens, "
    "in both precisions"
)

claim(
    id="flipflop/proposition-3",
    title="Two layers with one head say every read",
    source=PLACE,
    statement=(
        "A Transformer with two layers, one head of width 2, width 7 and residual connections computes the "
        r"reads of FFL$(T)$ in the deterministic mode, with scores of size $c = O(T \log T)$."
    ),
    criterion=rf"With $c = 2T \ln(8T)$ no read is wrong {STRINGS}.",
    trials=networks,
    check=holds("Proposition 3"),
    figure=constants_figure,
    kind="theorem",
)

claim(
    id="flipflop/proposition-3-linear",
    title="Scores of size $3T$ are enough",
    source=f"{PLACE}; the constant is ours",
    statement=(
        r"In the network of Proposition 3 scores fall linearly with the distance, what leaks is a geometric "
        r"series, and $c = 3T$ is enough at every length, without the logarithm."
    ),
    criterion=f"With $c = 3T$ no read is wrong {STRINGS}.",
    trials=networks,
    check=holds("Proposition 3, c = 3T"),
    figure=constants_figure,
    kind="theorem",
    uses=("flipflop/proposition-3",),
)

claim(
    id="flipflop/proposition-3-horizon",
    title="The exact network has a horizon",
    source=f"{PLACE}; the horizon is ours",
    statement=(
        r"With positions $t/C$ for a fixed $C$, the network of Proposition 3 reads $w\,1\,(i\,0)^m\,r$ right "
        r"if the read is at most $C$ tokens after the bit, and wrong if it is further."
    ),
    criterion=r"This is so for every even length up to $2C + 2$, with $C = 64$.",
    trials=networks,
    check=holds("Proposition 3, horizon"),
    kind="theorem",
    uses=("flipflop/proposition-3",),
)

claim(
    id="flipflop/two-unit-lstm",
    title="An LSTM with two units says every read",
    source=f"{THESIS}, Section 3.5.2 (R2); the weights are ours",
    statement=(
        "A recurrent network can remember the bit: an LSTM with two units, one for the write and one for "
        "the bit, says every read at every length; a bit behind gates that are less sure is lost."
    ),
    criterion=(
        f"No read is wrong {STRINGS}, nor on strings of 4000 tokens of FFL(.999); after 20,000 ignored pairs "
        "it is right with gates of logit 60 and wrong with those of logit 10."
    ),
    trials=networks,
    check=holds("Two-unit LSTM", "Two-unit LSTM, gates"),
    kind="theorem",
)
