"""How fast VGB mixes if values err."""

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import Results, both, identity
from ..figures.amplification import mixing_curves, stationary_flow
from ..study import STUDY
from .exact_trials import BOUND, DERIVED, IDENTITY, VGB, at_least, rows, table, trees


def amplify(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.amplification import Amplify, run

    config = {
        "smoke": Amplify(seed, draws=10),
        "laptop": Amplify(
            seed,
            draws=50,
            walk=(4, 6, 8, 10),
            dyck=(4, 6, 8, 10, 12, 14, 16),
            lumped=512,
            curve=1500,
        ),
        "paper": Amplify(
            seed,
            draws=200,
            walk=(4, 6, 8, 10, 12),
            dyck=tuple(range(4, 21, 2)),
            lumped=4096,
            curve=3000,
        ),
    }[profile]
    return {"suite": Trial(run, config)}


STUDY.claim(
    id="guided/vgb-gap",
    title="VGB relaxes in time of order kappa^2 H^2",
    source=f"{VGB}, property (1), with constants",
    statement=(
        "gap >= min_w [c(w)/2M] / [2H mu(T_w)(1 - mu(T_w))] >= 1 / (4H (1 + 2 kappa^2 (H - 1))): no "
        "dependence on the size of the alphabet or on small probabilities."
    ),
    criterion=BOUND,
    trials=trees,
)(both(at_least("canonical_gap"), at_least("closed_gap")))

STUDY.claim(
    id="guided/vgb-decay",
    title="The distance of VGB to its stationary law decays at the rate of the gap",
    source=DERIVED,
    statement="From the root TV_t <= 1/2 sqrt((1 - mu_0) / mu_0) (1 - gap)^t for every t.",
    criterion=BOUND,
    trials=trees,
    kind="lemma",
)(at_least("tv_decay"))

STUDY.claim(
    id="guided/vgb-root-time",
    title="From a typical leaf the way back to the root is quadratic in H",
    source=DERIVED,
    statement=(
        "The expected lazy time from a leaf drawn from pi* to the root is 2H + 4 sum_{h<k} "
        "E_{pi*}[r(y_{1:k}) / r(y_{1:h})], 2 H^2 for exact values."
    ),
    criterion=IDENTITY,
    trials=trees,
)(identity("root_time"))

STUDY.claim(
    id="guided/vgb-coverage",
    title="At a uniform time VGB covers all leaves from which the root is hit",
    source=DERIVED,
    statement=(
        "The average law over the first T steps satisfies nu_T(y) / mu(y) >= 1/2 P_y(the root is "
        "hit by T/2)."
    ),
    criterion=BOUND,
    trials=trees,
    kind="lemma",
)(at_least("coverage"))


@STUDY.claim(
    id="guided/mixing-curves",
    title="The proved number of steps suffices, and is far more than needed",
    source=DERIVED,
    statement=(
        "In the biased-coin world (bias 0.5) the bound's T gives a leaf-conditional total variation "
        "below 0.05; it is reached at T = 42 for H = 4 and 85 for H = 6, and for H = 8 it is "
        "0.12096, 0.05479, 0.01619 and 0.00569 at T = 64, 128, 256 and 384."
    ),
    criterion=(
        "The bounds hold at every step, the proved T suffices, and the numbers agree to the digits "
        "given."
    ),
    trials=amplify,
    kind="figure",
    figure=mixing_curves,
)
def curves(results: Results) -> Outcome:
    found = rows(results, "curves")
    wanted = (0.12096, 0.05479, 0.01619, 0.00569)
    near = all(abs(a - b) < 5.1e-6 for a, b in zip(found["at"][-1], wanted, strict=True))
    holds = (
        near
        and found["first"][:2] == [42, 85]
        and max(found["then"]) <= 0.05
        and min(found["slack"]) >= -1e-9
    )
    columns = {
        "H": found["H"],
        "TV <= 0.05 at": found["first"],
        "proved": found["enough"],
        "TV then": found["then"],
    }
    return Outcome(
        "holds" if holds else "fails",
        {"steps needed at H = 8": found["first"][-1], "steps proved at H = 8": found["enough"][-1]},
        (table("steps to a leaf-conditional total variation of 0.05", columns),),
    )


@STUDY.claim(
    id="guided/stationary-flow",
    title="VGB's stationary flow on a small tree",
    source=f"{VGB}, Figure 3.5, as an exact picture",
    statement=(
        "In the biased-coin world of four bits all leaves have the same mass although the values "
        "inside err."
    ),
    criterion="The masses of the leaves differ by at most 1e-12.",
    trials=amplify,
    kind="figure",
    figure=stationary_flow,
)
def flow(results: Results) -> Outcome:
    arrays = results["suite"].arrays
    leaves = arrays["mu"][arrays["level"] == arrays["level"].max()]
    spread = float(leaves.max() - leaves.min())
    return Outcome(
        "holds" if spread <= 1e-12 else "fails",
        {"largest difference of leaves": spread, "mass of the leaves": float(leaves.sum())},
    )
