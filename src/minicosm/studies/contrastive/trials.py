"""Configurations, how large each profile makes them, and the trials of claims."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class Chains:
    """How many random reversible chains are looked at."""

    seed: int
    chains: int


@sized(Chains, smoke={"chains": 4}, laptop={"chains": 200}, paper={"chains": 1000})
def mixing(config: Chains) -> dict[str, Trial]:
    from .suites import mixing

    return {"suite": Trial(mixing.run, config)}


@dataclass(frozen=True)
class Kernels:
    """How many random kernels are compared with random true ones."""

    seed: int
    kernels: int


@sized(Kernels, smoke={"kernels": 2000}, laptop={"kernels": 20_000}, paper={"kernels": 200_000})
def losses(config: Kernels) -> dict[str, Trial]:
    from .suites import losses

    return {"suite": Trial(losses.run, config)}


@dataclass(frozen=True)
class Exact:
    """Integrals and worlds that are not drawn."""

    seed: int


@sized(Exact, smoke={}, laptop={}, paper={})
def prices(config: Exact) -> dict[str, Trial]:
    from .suites import prices

    return {"suite": Trial(prices.run, Exact(seed=0))}


# -- samples --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """The largest difference between empirical and true risk over a family of classifiers."""

    seed: int
    repeats: int = 400
    lengths: tuple[int, ...] = (50, 200, 800)
    classifiers: int = 15
    gap: float = 0.2

    def __post_init__(self) -> None:
        if self.repeats < 2 or len(self.lengths) < 2:
            raise ValueError("a slope with an interval needs at least 2 repeats and 2 lengths")


@sized(Gap, smoke={"repeats": 30, "lengths": (50, 200)}, laptop={}, paper={"repeats": 2000})
def generalisation(config: Gap) -> dict[str, Trial]:
    from .experiments import plug_in

    return {"gap": Trial(plug_in.generalisation, config)}


@dataclass(frozen=True)
class PlugIn:
    """Fits of the two parameters of the kernel, by the contrastive loss on one trajectory."""

    seed: int
    gap: float = 0.5
    repeats: int = 800
    length: int = 2000
    curve_repeats: int = 100
    curve: tuple[int, ...] = (100, 200, 400, 800, 1600, 3200, 6400)
    shift_repeats: int = 400
    shift_length: int = 1000
    shifts: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)


SMALL_PLUG_IN = {
    "repeats": 30,
    "length": 200,
    "curve_repeats": 10,
    "curve": (100, 200),
    "shift_repeats": 30,
    "shift_length": 200,
    "shifts": (0, 2, 6),
}


@sized(PlugIn, smoke=SMALL_PLUG_IN, laptop={}, paper={"repeats": 4000, "shift_repeats": 2000})
def plug_in(config: PlugIn) -> dict[str, Trial]:
    from .experiments import plug_in

    return {
        "length": Trial(plug_in.lengths, config),
        "shift": Trial(plug_in.shifted, config),
    }


# -- networks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Networks:
    """Classifiers that are trained on the pairs of one trajectory each."""

    seed: int
    seeds: int = 10
    steps: int = 3000
    batch: int = 256
    rate: float = 3e-3
    width: int = 64
    length: int = 2000
    gaps: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0)
    """Gaps with a local contrast law."""
    narrow: float = 0.05
    """The gap at which a local contrast law is compared with the stationary one."""
    plane: bool = False
    """Whether the same is also done for a diffusion in the plane."""

    def __post_init__(self) -> None:
        if self.seeds < 2:
            raise ValueError(f"seeds is {self.seeds}; an interval needs at least 2")


@dataclass(frozen=True)
class Ensemble:
    """Networks of one gap and one contrast law."""

    seed: int
    seeds: int
    steps: int
    batch: int
    rate: float
    width: int
    length: int
    gap: float
    contrast: str


def _ensembles(config: Networks, arms: dict[str, tuple[float, str]]) -> dict[str, Trial]:
    """Trials of gaps and contrast laws by name, on the line and, if it is asked for, in the plane."""
    from .experiments import networks, plane

    names = ("seed", "seeds", "steps", "batch", "rate", "width", "length")
    shared = {name: getattr(config, name) for name in names}
    found = {}
    for prefix, run in (("", networks.run), *([(PLANE, plane.run)] if config.plane else [])):
        for name, (gap, contrast) in arms.items():
            found[prefix + name] = Trial(run, Ensemble(**shared, gap=gap, contrast=contrast))
    return found


PLANE = "plane, "
SMALL_NETWORK = {"seeds": 2, "steps": 60, "length": 200, "gaps": (0.5,), "narrow": 0.5}
LARGE_NETWORK = {"seeds": 40, "length": 8000, "plane": True}


@sized(Networks, smoke=SMALL_NETWORK, laptop={}, paper=LARGE_NETWORK)
def networks(config: Networks) -> dict[str, Trial]:
    return _ensembles(config, {f"gap {gap:g}, local": (gap, "local") for gap in config.gaps})


@sized(Networks, smoke=SMALL_NETWORK, laptop={}, paper=LARGE_NETWORK)
def two_contrasts(config: Networks) -> dict[str, Trial]:
    return _ensembles(config, {name: (config.narrow, name) for name in ("local", "stationary")})
