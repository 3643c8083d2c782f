"""All tests run with the shapes and types of every annotated function checked as it is called."""

import os
import signal
from collections.abc import Iterator

# The tests compile many small programs and run each a few times: without XLA's fusion emitters, which
# take two thirds of the time that compiling takes, and without most optimisations.
os.environ["XLA_FLAGS"] = f"--xla_cpu_use_fusion_emitters=false {os.environ.get('XLA_FLAGS', '')}"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process keeps to one core, see below

import hypothesis
import jax
import jaxtyping
import pytest

# Each process that runs tests keeps to one core: threads of two that compile at once would wait for
# each other.
if hasattr(os, "sched_setaffinity") and (process := os.environ.get("PYTEST_XDIST_WORKER")):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(process.removeprefix("gw")) % len(cores)]})

# Also where tests run in the background of a shell, which has Ctrl-C ignored; tests send it to processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

jaxtyping.install_import_hook("minicosm", "type_checking.check")

hypothesis.settings.register_profile(
    "minicosm",
    deadline=None,  # the first example of a shape waits for the compiler
    max_examples=15,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("minicosm")

jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_num_cpu_devices", 2)  # for tests of training on more than one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest starts first, so that no worker ends alone."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_configure(config: pytest.Config) -> None:
    # beartype looks at a random element of a list, also while hypothesis draws.
    config.addinivalue_line("filterwarnings", "ignore:Do not use the `random` module")


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[None]:
    """A process that holds more than 2 GB forgets the programs that it has compiled."""
    yield
    from minicosm.lab.executors import _forget

    _forget(2 * 2**30)


@pytest.fixture(scope="module")
def unchecked_types() -> Iterator[None]:
    """Annotations are not checked, so that a user's mistake meets the package's own message."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
