"""How JAX compiles what trials run: said by the environment, before it is imported."""

from __future__ import annotations

import os
from importlib.metadata import version

from minicosm.lab.claims import ProfileName
from minicosm.lab.store import Store


def prepare(store: Store, profile: ProfileName) -> None:
    """Keep compiled programs in the store, and compile quickly where nearly all time goes into that."""
    # Compiling a Transformer's step takes 10 s or more.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(store.path.absolute() / "compiled"))
    # XLA's own caches would put the store's path into the key of every program, so that a store that
    # was moved had to compile them all again.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none")
    if profile != "smoke":
        return
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    if version("jaxlib").startswith(
        "0.10."
    ):  # XLA ends the process at a flag that it does not know
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"--xla_cpu_use_fusion_emitters=false {flags}".strip()
