"""Configurations, how large each profile makes them, and the trials of claims."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from math import inf

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class Gaussians:
    """Two Gaussians on the line, at many distances R of their means."""

    seed: int
    distances: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 18, 20)
    nodes: int = 4001
    """Points of the integrals."""
    taus: int = 3000
    """Random parameters, for what is said of all of them."""
    fine: int = 401
    """Directions about that of the least curvature, for Equation 4.60."""

    def __post_init__(self) -> None:
        if not self.distances or min(self.distances) <= 0:
            raise ValueError(f"distances is {self.distances}; it needs positive numbers")
        for name, least in (("nodes", 401), ("taus", 1), ("fine", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")


@sized(
    Gaussians,
    smoke={"distances": (2, 4, 6, 8, 10, 20), "nodes": 1601, "taus": 128, "fine": 48},
    laptop={},
    paper={"nodes": 40_001, "fine": 4001},
)
def landscape(config: Gaussians) -> dict[str, Trial]:
    from .suites import landscape

    return {"suite": Trial(landscape.run, config)}


@dataclass(frozen=True)
class Families:
    """Random exponential families on a few points."""

    seed: int
    families: int
    parameters: tuple[int, ...] = (1, 2, 3)
    points: int = 8
    """At most; those that a family has not are there with base 0."""
    taus: int = 20
    gaussians: tuple[float, ...] = (1, 2, 3, 4, 6)
    """Two Gaussians at these distances are among the worlds."""
    theorem_21: tuple[float, ...] = (2, 3)

    def __post_init__(self) -> None:
        if not all(R > 0 for R in (*self.gaussians, *self.theorem_21)):
            raise ValueError("gaussians and theorem_21 must be positive numbers")
        if not self.parameters or min(self.parameters) < 1:
            raise ValueError(f"parameters is {self.parameters}; it needs numbers of at least 1")
        if self.points < max(self.parameters) + 2:
            raise ValueError(f"points is {self.points}; it must be 2 more than the parameters")
        for name in ("families", "taus"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


@sized(
    Families,
    smoke={"families": 12, "parameters": (1,), "gaussians": (2, 4), "theorem_21": (1.5, 2)},
    laptop={"families": 200},
    paper={"families": 2000},
)
def families(config: Families) -> dict[str, Trial]:
    from .suites import families

    return {"suite": Trial(families.run, config)}


@dataclass(frozen=True)
class StepCounts:
    """At which R each method is run until it arrives."""

    seed: int
    gd: tuple[float, ...] = (1, 2, 3, 4, 5, 6)
    newton: tuple[float, ...] = (1, 2, 3, 4, 5)
    """Damped, as in Theorem 18."""
    undamped: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 8)
    ngd: tuple[float, ...] = (2, 3, 4, 5, 6, 8)
    theorem_19: tuple[float, ...] = (2, 3, 4)
    theorem_20: tuple[float, ...] = (2, 3, 4, 5, 6, 7, 8)
    corollary_2: tuple[float, ...] = (3, 4, 5)
    neighbourhood: tuple[float, ...] = (2, 3, 4, 6, 10)
    adam: tuple[float, ...] = (2, 3, 4, 5, 6)
    """Adam and momentum, of which nothing is claimed."""

    def __post_init__(self) -> None:
        for name, distances in asdict(self).items():
            if name != "seed" and not all(distance > 0 for distance in distances):
                raise ValueError(f"{name} is {distances}; it needs positive numbers")


@sized(
    StepCounts,
    smoke={
        "gd": (1, 2, 3, 4), "newton": (1, 2, 3), "undamped": (1, 2, 3), "ngd": (3, 4, 5, 6),
        "theorem_19": (2, 3), "theorem_20": (2, 3, 4), "corollary_2": (3, 4),
        "neighbourhood": (2, 3, 4), "adam": (),
    },
    laptop={},
    paper={"gd": (1, 2, 3, 4, 5, 6, 7)},
)  # fmt: skip
def steps(config: StepCounts) -> dict[str, Trial]:
    from .suites import steps

    return {"suite": Trial(steps.run, config)}


@dataclass(frozen=True)
class Precision:
    """Runs in single and double precision, over step sizes."""

    seed: int
    R: float = 8.0
    """Of the sweep."""
    rates: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    steps: int = 2000
    far: float = 16.0
    """The R at which single precision is compared with double."""
    beyond: float = 30.0
    """The R at which plain gradients in single precision are 0."""

    def __post_init__(self) -> None:
        if not self.rates or min(self.rates) <= 0:
            raise ValueError(f"rates is {self.rates}; it needs positive numbers")
        for name in ("R", "far", "beyond"):
            if not 0 < getattr(self, name) <= 50:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be in (0, 50]")
        if not 1 <= self.steps <= 10**6:
            raise ValueError(f"steps is {self.steps}; it must be from 1 to a million")


@sized(Precision, smoke={"rates": (1.0,)}, laptop={}, paper={"steps": 20_000})
def precision(config: Precision) -> dict[str, Trial]:
    from .suites import precision

    return {"suite": Trial(precision.run, config)}


# -- from samples ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampling:
    """Updates from fresh samples, for all step sizes, both losses, both methods and both schedules."""

    seed: int
    seeds: int = 10
    updates: int = 100
    batch: int = 1000
    """Samples of the data, and as many of the noise, in every update."""
    rates: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    clip: float = 100.0
    """Of the log-ratio."""

    def __post_init__(self) -> None:
        for name, least in (("seeds", 2), ("updates", 1), ("batch", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if not self.rates or not all(0 < rate < inf for rate in self.rates):
            raise ValueError(f"rates is {self.rates}; it needs positive numbers")
        if not 0 < self.clip < inf:
            raise ValueError(f"clip is {self.clip}; it must be positive")


@dataclass(frozen=True)
class Sampled(Sampling):
    """In a world of `dimension` dimensions: 1 is the mean of Figure 4.2, left, more are variances, right."""

    dimension: int = 1
    stream: int = 0
    """Another number makes other seeds."""


ONE, SIXTEEN, MORE, AGAIN = (
    "1 dimension",
    "16 dimensions",
    "32 dimensions",
    "1 dimension, other seeds",
)
WORLDS: dict[str, dict[str, int]] = {
    ONE: {"dimension": 1},
    SIXTEEN: {"dimension": 16},
    MORE: {"dimension": 32},
    AGAIN: {"dimension": 1, "stream": 1},
}


def _sampled(*worlds: str) -> Callable[..., Mapping[str, Trial]]:
    @sized(
        Sampling,
        smoke={"seeds": 3, "batch": 200},
        laptop={},
        paper={"seeds": 50},
    )
    def trials(config: Sampling) -> dict[str, Trial]:
        from .experiments import sampled

        found = {}
        for name in worlds:
            given = asdict(config) | WORLDS[name]
            if name == AGAIN:  # with fewer than 36 seeds in all no share is known to be below 0.1
                given["seeds"] *= 3
            found[name] = Trial(sampled.run, Sampled(**given))
        return found

    return trials


both_worlds = _sampled(ONE, SIXTEEN)
more_dimensions = _sampled(MORE)
more_seeds = _sampled(ONE, AGAIN)


# -- images ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Imaging:
    """Networks that tell images from Gaussian noise, for all step sizes of both methods."""

    seed: int
    seeds: int = 5
    updates: int = 500
    batch: int = 128
    rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    images: str = ""
    """A .npy or .npz file with an array of images (n, height, width); empty: the 8x8 digits of
    scikit-learn."""
    held_out: int = 397
    features: str = "mlp"
    hidden: int = 64
    clip: float = 60.0

    def __post_init__(self) -> None:
        counts = (("seeds", 2), ("updates", 10), ("batch", 1), ("held_out", 1), ("hidden", 1))
        for name, least in counts:
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if self.updates % 10:
            raise ValueError(f"updates is {self.updates}; it must be a multiple of 10")
        if not self.rates or not all(0 < rate < inf for rate in self.rates):
            raise ValueError(f"rates is {self.rates}; it needs positive numbers")
        if self.features not in ("mlp", "resnet"):
            raise ValueError(f"features is {self.features!r}; it must be mlp or resnet")
        if not 0 < self.clip < inf:
            raise ValueError(f"clip is {self.clip}; it must be positive")


@dataclass(frozen=True)
class Images(Imaging):
    """With the file's content."""

    content: str = ""
    """A hash of the file: a changed file is another trial."""


@sized(
    Imaging,
    smoke={"seeds": 2, "updates": 60, "rates": (0.1, 0.3)},
    laptop={},
    paper={"updates": 2000, "features": "resnet", "held_out": 10_000},
)
def images(config: Imaging) -> dict[str, Trial]:
    """No trial without images: scikit-learn is an extra, and the source's own images are a user's."""
    if not config.images and (find_spec("sklearn") is None or config.features == "resnet"):
        return {}
    from .experiments import images

    content = images.content(config.images) if config.images else ""
    return {IMAGES: Trial(images.run, Images(**asdict(config), content=content))}


IMAGES = "images"
