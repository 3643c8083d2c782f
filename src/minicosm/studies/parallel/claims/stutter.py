"""Why refinement stutters, and when: trained decoders beside the exact ones of the fertility world."""

from typing import Any

from minicosm.lab import Estimate, Outcome, Table

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..figures.refinement import stutter_figure
from ..readings import DATA, after, of_seeds
from ..study import STUDY
from .refinement_trials import (
    BLIND,
    EVERY,
    EXACT,
    EXACT_WORLDS,
    MARGIN,
    UNLEARNED,
    if_learned,
    points,
    searched,
    share,
    translators,
)
from .trials import PAPER


@STUDY.claim(
    id="refinement/stutter",
    title="Refinement stutters at least twice as often",
    source=f"{PAPER}, Section 4.2.3, in the fertility world",
    statement=(
        "In what refinement decodes in four passes, a token repeats the one before it at least twice as "
        "often as in what is decoded token by token, on all data."
    ),
    criterion=(
        "Repeats per 1000 tokens before clean-up, refinement less twice token by token, seed by seed: every "
        "95% interval (distilled, peaked, undistilled) lies above 0: holds; one below: fails; otherwise "
        "undecided." + UNLEARNED
    ),
    trials=EVERY,
    figure=stutter_figure,
    kind="experiment",
)
@if_learned
def stutter(results: Results) -> Outcome:
    over, lines = {}, []
    for data in DATA:
        refined, causal = after(results, data, 4, "stutter"), searched(results, data, "stutter")
        over[data] = Estimate.of(refined - 2 * causal)
        one = Estimate.of(after(results, data, 1, "stutter"))
        lines.append((data, one, Estimate.of(refined), Estimate.of(causal)))
    columns = ("data", "refinement, 1 pass", "refinement, 4 passes", "token by token")
    return Outcome(
        all_above(over.values()),
        {f"refinement less twice token by token, {data}": value for data, value in over.items()},
        (Table("repeats per 1000 tokens, before clean-up", columns, tuple(lines)),),
    )


@STUDY.claim(
    id="refinement/stutter-given-length",
    title="Given the length, refinement stutters at least twice as often",
    source=f"added to {PAPER}, Section 4.2.3, in the fertility world",
    statement=(
        "Given the true length, four passes repeat a token at more than twice the share of neighbouring "
        "pairs at which decoding token by token does, where the length leaves the target open."
    ),
    criterion=(
        "Share of equal pairs, refinement less twice token by token, seed by seed, in points: both 95% "
        "intervals (peaked, undistilled) lie above 0: holds; one below: fails; otherwise undecided."
        + UNLEARNED
    ),
    trials=EVERY,
    kind="experiment",
)
@if_learned
def stutter_given_length(results: Results) -> Outcome:
    over = {
        data: points(
            after(results, data, 4, "told_stutter"), 2 * searched(results, data, "stutter_share")
        )
        for data in EXACT_WORLDS
    }
    named = {f"refinement less twice token by token, {data}": value for data, value in over.items()}
    return Outcome(all_above(over.values()), named)


@STUDY.claim(
    id="refinement/certain-lengths",
    title="Of several lengths, the score picks one that leaves little to guess",
    source=f"added to {PAPER}, Section 4.2.1, in the fertility world",
    statement=(
        "The best of five hypotheses has a length at which the exact marginals of the tokens have less "
        "entropy than at the target's true length: this is how refinement avoids stuttering there."
    ),
    criterion=(
        "Entropy summed over positions, true length less chosen length, seed by seed, peaked and "
        "undistilled: both 95% intervals above 0: holds; one below: fails; otherwise undecided."
        + UNLEARNED
    ),
    trials=translators(*EXACT_WORLDS, exact=EXACT_WORLDS),
    kind="experiment",
)
@if_learned
def certain_lengths(results: Results) -> Outcome:
    numbers: dict[str, Any] = {}
    gains = []
    for data in EXACT_WORLDS:
        chosen, true = (of_seeds(results, data, name) for name in ("entropy", "entropy_told"))
        gains.append(Estimate.of(true - chosen))
        numbers |= {
            f"nats less, {data}": gains[-1],
            f"nats at the true length, {data}": float(true.mean()),
            f"lengths chosen that are impossible, {data}": int(
                of_seeds(results, data, "impossible").sum()
            ),
        }
    return Outcome(all_above(gains), numbers, (_scores_table(results),))


def _scores_table(results: Results) -> Table:
    """What comes out of four passes if the tokens alone choose the hypothesis, or the length too."""
    lines: list[tuple] = []
    for arm in results:
        for score, row in (("tokens", ("passes", "4")), ("length and tokens", ("joint",))):
            valid, length, repeats = (
                of_seeds(results, arm, *row, name) for name in ("valid", "length", "stutter")
            )
            lines.append((arm, score, share(valid), Estimate.of(length), Estimate.of(repeats)))
    columns = ("decoder", "chosen by", "valid (per cent)", "mean length", "repeats per 1000 tokens")
    return Table("the score of hypotheses, four passes", columns, tuple(lines))


@STUDY.claim(
    id="refinement/stutter-is-bayes",
    title="Trained decoders stutter as much as exact ones",
    source=f"added to {PAPER}, Section 4.2.4, in the fertility world",
    statement=(
        "Given the true length, one pass of a trained decoder repeats a token at the same share of "
        "neighbouring pairs as the exact product decoder on the same sources, about 0.10 and 0.19."
    ),
    criterion=(
        "Peaked and undistilled: trained less exact, seed by seed: all 95% intervals within 0.05: holds; one "
        "outside: fails; otherwise undecided." + UNLEARNED
    ),
    trials=translators(*EXACT_WORLDS, exact=EXACT_WORLDS),
    kind="experiment",
)
@if_learned
def stutter_is_bayes(results: Results) -> Outcome:
    numbers: dict[str, Estimate] = {}
    away = []
    for data in EXACT_WORLDS:
        trained = after(results, data, 1, "told_stutter")
        exact = after(results, BLIND.format(data), 1, "told_stutter")
        away.append(Estimate.of(trained - exact))
        numbers |= {
            f"trained less exact, {data}": away[-1],
            f"share of pairs, trained, {data}": Estimate.of(trained),
            f"share of pairs, exact, {data}": Estimate.of(exact),
        }
    return Outcome(all_within(away, 0.05), numbers)


@STUDY.claim(
    id="refinement/one-pass-is-bayes",
    title="One trained pass comes close to the best product law",
    source=f"added to {PAPER}, Propositions 4.1.3 and 4.3.5, in the fertility world",
    statement=(
        "Given the true length and random tokens, one pass of a trained decoder predicts each token nearly "
        "as the exact marginals do: no pass can predict better."
    ),
    criterion=(
        "Peaked and undistilled: mean total variation to the exact marginal, and share of right tokens, "
        "exact less trained, seed by seed. All 95% intervals below 0.1 and below 5 points: holds; one "
        "above: fails; otherwise undecided." + UNLEARNED
    ),
    trials=translators(*EXACT_WORLDS, exact=EXACT_WORLDS),
    kind="experiment",
)
@if_learned
def one_pass(results: Results) -> Outcome:
    numbers: dict[str, Any] = {}
    over, within = False, True
    for data in EXACT_WORLDS:
        away = Estimate.of(of_seeds(results, data, "law_tv"))
        behind = points(
            of_seeds(results, data, "marginal_accuracy"),
            of_seeds(results, data, "one_pass_accuracy"),
        )
        noise = Estimate.of(of_seeds(results, EXACT.format(data), "law_tv"))
        exact = Estimate.of(of_seeds(results, data, "posterior_tv"))
        numbers |= {
            f"total variation to the marginals, {data}": away,
            f"right tokens behind, in points, {data}": behind,
            f"total variation to the posterior given the noise, {data}": exact,
            f"total variation between the two exact laws, {data}": noise,
        }
        over = over or away.low > 0.1 or behind.low > MARGIN
        within = within and away.high < 0.1 and behind.high < MARGIN
    return Outcome("fails" if over else "holds" if within else "undecided", numbers)
