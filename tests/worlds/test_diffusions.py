"""Diffusions against matrix exponentials, other closed forms, integrals, and a simulation in small steps."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh_tridiagonal, expm, solve_continuous_lyapunov
from scipy.stats import chi, multivariate_normal, norm

from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Potential,
    Stationary,
    Table,
    contrast_moments,
    contrast_table,
    contrastive_pairs,
)

seeds = st.integers(0, 10**6)


def random_stiffness(seed, d):
    G = np.random.default_rng(seed).normal(size=(d, d))
    return G @ G.T + 0.1 * np.eye(d)


# -- Ornstein-Uhlenbeck ----------------------------------------------------------------------------


@given(seeds, st.integers(1, 4), st.floats(1e-3, 5))
def test_moments_solve_the_equations_of_the_diffusion(seed, d, gap):
    Lambda = random_stiffness(seed, d)
    a, covariance = OrnsteinUhlenbeck(Lambda, gap).moments()
    np.testing.assert_allclose(a, expm(-gap * Lambda), atol=1e-10)
    stationary = solve_continuous_lyapunov(Lambda, 2 * np.eye(d))  # L S + S L = 2 I
    np.testing.assert_allclose(covariance, stationary - a @ stationary @ a.T, atol=1e-9)


@given(seeds, st.integers(1, 3))
def test_densities_are_those_of_scipy(seed, d):
    world = OrnsteinUhlenbeck(random_stiffness(seed, d), 0.4)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5, d))
    a, covariance = world.moments()
    wanted = [multivariate_normal(a @ s, covariance).logpdf(t) for s, t in zip(x, y, strict=True)]
    np.testing.assert_allclose(world.log_kernel(x, y), wanted, rtol=1e-9)
    law = multivariate_normal(np.zeros(d), np.linalg.inv(world.stiffness))
    np.testing.assert_allclose(world.log_stationary(x), law.logpdf(x), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_the_mean_norm_is_that_of_a_chi_law(d):
    world = OrnsteinUhlenbeck(2.5 * np.eye(d), 1.0)
    assert world.mean_norm() == pytest.approx(chi(d).mean() / np.sqrt(2.5))
    with pytest.raises(ValueError, match="not isotropic"):
        OrnsteinUhlenbeck(np.diag([1.0, 2.0]), 1.0).mean_norm()


def test_paths_have_the_moments_of_the_world():
    world = OrnsteinUhlenbeck([[2.0, 0.5], [0.5, 1.0]], 0.3)
    path = np.asarray(world.sample(jax.random.key(0), 60_000).observations, float)
    a, covariance = world.moments()
    np.testing.assert_allclose(np.cov(path.T), np.linalg.inv(world.stiffness), atol=0.06)
    fitted, *_ = np.linalg.lstsq(path[:-1], path[1:], rcond=None)
    np.testing.assert_allclose(fitted.T, a, atol=0.02)
    np.testing.assert_allclose(np.cov((path[1:] - path[:-1] @ a.T).T), covariance, atol=0.02)


# -- grids -----------------------------------------------------------------------------------------


def tilted(b):
    return Potential(
        lambda x: x**2 / 2 + b * (np.exp(x / 2) - x / 2 - 1),
        lambda x: x + b * (np.exp(x / 2) - 1) / 2,
        1.0,
        np.inf,
    )


@settings(max_examples=8)
@given(st.floats(0, 3), st.floats(0.01, 4), st.sampled_from([3, 20, 41]))
def test_the_kernel_is_the_exponential_of_the_rates(b, gap, points):
    """Entry by entry to the rounding of SciPy's exponential, which small entries do not survive."""
    world = GridDiffusion(tilted(b), gap, points=points, radius=3.0)
    x, f, h = world.points, tilted(b).f(world.points), world.spacing
    L = np.zeros((points, points))
    for i in range(points):
        for j in (i - 1, i + 1):
            if 0 <= j < points:
                L[i, j] = np.exp((f[i] - f[j]) / 2) / h**2
        L[i, i] = -L[i].sum()
    np.testing.assert_allclose(world.kernel, expm(gap * L), atol=1e-11)
    law = np.exp(-f) / np.exp(-f).sum()
    np.testing.assert_allclose(world.law, law, rtol=1e-12)
    flow = law[:, None] * world.kernel  # reversible: detailed balance
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)
    assert (world.kernel > 0).all() and x[0] == -3.0


def test_the_grid_is_close_to_the_diffusion():
    grid = GridDiffusion(QUADRATIC, 0.5, points=101, radius=5.0)
    a, s2 = np.exp(-0.5), 1 - np.exp(-1.0)
    exact = norm.pdf(grid.points[None], a * grid.points[:, None], np.sqrt(s2)) * grid.spacing
    distances = np.abs(grid.kernel - exact).sum(axis=1) / 2
    assert grid.law @ distances == pytest.approx(5.5e-4, abs=1e-4)
    assert grid.mean_norm() == pytest.approx(np.sqrt(2 / np.pi), abs=1e-3)
    assert grid.beta(1.0) == pytest.approx(0.127138, abs=1e-3)


def test_the_grid_is_the_law_of_a_simulation_in_small_steps():
    """Euler and Maruyama with steps of a thousandth, 20,000 paths from one start."""
    rng, gap, start = np.random.default_rng(1), 0.5, 1.35
    x = np.full(20_000, start)
    for _ in range(500):
        x = x - 1e-3 * LOG_COSH.slope(x) + np.sqrt(2e-3) * rng.normal(size=x.size)
    world = GridDiffusion(LOG_COSH, gap)
    at = int(np.argmin(np.abs(world.points - start)))
    row, points = world.kernel[at], world.points
    assert points[at] == pytest.approx(start)
    mean = row @ points
    assert x.mean() == pytest.approx(mean, abs=4 * x.std() / np.sqrt(x.size) + 2e-3)
    assert x.std() == pytest.approx(np.sqrt(row @ points**2 - mean**2), abs=0.01)
    below = [(x <= edge).mean() for edge in (-1.0, 0.0, 0.5, 1.0)]
    ends = points + world.spacing / 2  # of the cells around the points
    wanted = np.interp((-1.0, 0.0, 0.5, 1.0), ends, np.cumsum(row))
    np.testing.assert_allclose(below, wanted, atol=0.015)


@pytest.mark.parametrize(("gap", "wanted"), [(0.05, 0.0073), (0.2, 0.0893), (1.0, 0.884)])
def test_the_divergence_of_an_euler_step(gap, wanted):
    world = GridDiffusion(LOG_COSH, gap)
    euler = world.euler()
    assert world.kl(euler) == pytest.approx(wanted, rel=0.01)
    each = [np.sum(p * np.log(p / q)) for p, q in zip(world.kernel, euler, strict=True)]
    assert world.kl(euler) == pytest.approx(world.law @ each)
    assert world.kl(world.kernel) == pytest.approx(0, abs=1e-15)
    assert world.kl(np.eye(len(world.points))) == np.inf


@pytest.mark.parametrize(
    ("potential", "gap", "size", "most", "spectral", "naive"),
    [
        (QUADRATIC, 0.5, (101, 5.0), 2.0, 0.0029, 0.41),
        (LOG_COSH, 0.3, (161, 3.6), 1.5, 0.0113, 0.984),
        (LOG_COSH, 0.3, (101, 5.0), 1.5, 0.0221, 0.987),  # most of it the spacing of the points
    ],
)
def test_the_drift_is_read_off_the_kernel(potential, gap, size, most, spectral, naive):
    world = GridDiffusion(potential, gap, points=size[0], radius=size[1])
    inside = np.abs(world.points) < most
    truth = -potential.slope(world.points)
    assert np.abs(world.drift() - truth)[inside].max() == pytest.approx(spectral, rel=0.01)
    assert np.abs(world.naive_drift() - truth)[inside].max() == pytest.approx(naive, rel=0.01)
    # the same eigenvalues of the generator, without its exponential and logarithm
    f, h, root = potential.f(world.points), world.spacing, np.sqrt(world.law)
    up, down = np.exp(-np.diff(f) / 2) / h**2, np.exp(np.diff(f) / 2) / h**2
    values, V = eigh_tridiagonal(-np.append(up, 0) - np.insert(down, 0, 0), np.sqrt(up * down))
    V, values = V[:, values > np.log(1e-10) / gap], values[values > np.log(1e-10) / gap]
    wanted = V @ (values * (V.T @ (root * world.points))) / root
    np.testing.assert_allclose(world.drift()[inside], wanted[inside], atol=1e-4)


def test_the_drift_is_that_of_the_generator():
    world = GridDiffusion(LOG_COSH, 0.1, points=25, radius=2.0)
    f = LOG_COSH.f(world.points)
    up, down = np.exp(-np.diff(f) / 2), np.exp(np.diff(f) / 2)
    exact = np.append(up, 0) / world.spacing - np.insert(down, 0, 0) / world.spacing
    np.testing.assert_allclose(world.drift(least=0.0), exact, atol=1e-6)


def test_paths_on_a_grid_have_its_kernel():
    world = GridDiffusion(LOG_COSH, 0.4, points=9, radius=2.0)
    path = np.asarray(world.sample(jax.random.key(3), 50_000).observations)[:, 0]
    at = np.abs(path[:, None] - world.points[None]).argmin(axis=1)
    counts = np.zeros((9, 9))
    np.add.at(counts, (at[:-1], at[1:]), 1)
    np.testing.assert_allclose(counts.sum(axis=1) / counts.sum(), world.law, atol=0.012)
    seen = counts.sum(axis=1) > 3000
    found = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, world.kernel[seen], atol=0.03)


# -- contrast laws and pairs -----------------------------------------------------------------------


def test_contrast_laws():
    world = OrnsteinUhlenbeck(2.0, 0.3)
    assert contrast_moments(world, Stationary()) == (0.0, 0.0, pytest.approx(0.5))
    assert contrast_moments(world, Local()) == (1.0, 0.0, pytest.approx(0.6))
    assert contrast_moments(world, Gaussian(3.0, 4.0)) == (0.0, 3.0, pytest.approx(4.0))
    grid = GridDiffusion(LOG_COSH, 0.3, points=21)
    rows = np.random.default_rng(0).dirichlet(np.ones(21), size=21)
    for contrast, center, scale in (
        (Gaussian(0.5, 2.0), np.full(21, 0.5), np.sqrt(2.0)),
        (Local(), grid.points, np.sqrt(0.6)),
        (Local(0.1), grid.points, np.sqrt(0.1)),
    ):
        wanted = norm.pdf(grid.points[None], center[:, None], scale)
        wanted /= wanted.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(contrast_table(grid, contrast), wanted, rtol=1e-9)
    np.testing.assert_array_equal(contrast_table(grid, Table(rows)), rows)
    np.testing.assert_array_equal(contrast_table(grid, Stationary())[4], grid.law)


@pytest.mark.parametrize(
    "world", [OrnsteinUhlenbeck(np.diag([1.0, 2.0]), 0.5), GridDiffusion(LOG_COSH, 0.5)]
)
def test_pairs_are_next_observations_or_draws(world):
    key = jax.random.key(7)
    x, y, labels = map(np.asarray, contrastive_pairs(world, Local(), 4001.0, key))
    assert len(x) == len(y) == len(labels) == 4001
    path = np.asarray(world.sample(jax.random.split(key, 3)[0], 8002).observations)
    np.testing.assert_array_equal(x, path[::2])
    positive = labels == 1
    np.testing.assert_array_equal(y[positive], path[1::2][positive])
    assert abs(positive.mean() - 0.5) < 0.03 and set(labels) == {0.0, 1.0}
    steps = (y - x)[~positive]  # local draws: N(0, 2 gap) in every coordinate
    inside = np.abs(x[~positive][:, 0]) < 1.5  # away from the ends of a grid
    assert steps[inside].std() == pytest.approx(1.0, abs=0.04)
    assert np.abs(steps[inside].mean(axis=0)).max() < 0.08


def test_stationary_contrasts_do_not_look_at_the_anchor():
    world = GridDiffusion(QUADRATIC, 0.5, points=161, radius=4.0)  # shapes of the test above
    x, y, labels = map(
        np.asarray, contrastive_pairs(world, Stationary(), 4001.0, jax.random.key(1))
    )
    negative = labels == 0
    assert abs(np.corrcoef(x[negative, 0], y[negative, 0])[0, 1]) < 0.05
    assert np.corrcoef(x[~negative, 0], y[~negative, 0])[0, 1] == pytest.approx(
        np.exp(-0.5), abs=0.04
    )


def test_what_cannot_be_is_one_sentence():
    with pytest.raises(ValueError, match=r"gap is 0"):
        OrnsteinUhlenbeck(1.0, 0.0)
    with pytest.raises(ValueError, match=r"gap is 0"):
        GridDiffusion(LOG_COSH, 0)
    with pytest.raises(ValueError, match="has the eigenvalue -1; it must be positive definite"):
        OrnsteinUhlenbeck(np.diag([1.0, -1.0]), 1.0)
    with pytest.raises(ValueError, match="is not symmetric"):
        OrnsteinUhlenbeck([[1.0, 0.5], [0.0, 1.0]], 1.0)
    with pytest.raises(ValueError, match=r"it makes 0 pairs, where 1\.\.4194304 are allowed"):
        contrastive_pairs(OrnsteinUhlenbeck(1.0, 0.5), Local(), 0.5, jax.random.key(0))
    with pytest.raises(
        ValueError, match=r"kernel\[2\] sums to 2; every row of a kernel must sum to 1"
    ):
        grid = GridDiffusion(QUADRATIC, 1.0, points=5)
        grid.kl(np.where(np.arange(5)[:, None] == 2, 2, 1) * grid.kernel)
    with pytest.raises(TypeError, match="it must be Stationary, Gaussian or Local"):
        contrast_moments(OrnsteinUhlenbeck(1.0, 0.5), Table(np.eye(2)))
