"""What else the source varied: arms that are trained at its own size only, each unlike the baseline in one
thing. Values are the source's where it names them; weight decay, batch and dropout of attention and MLPs are
choices."""

from typing import Any

POSITIONS: dict[str, dict[str, Any]] = {"no positions": {"positions": "none"}}
UNITS: dict[str, dict[str, Any]] = {"gated units": {"gated": True}}
REGULARISERS: dict[str, dict[str, Any]] = {
    "attention dropout .1": {"attention_dropout": 0.1},
    "attention dropout .5": {"attention_dropout": 0.5},
    "MLP dropout .1": {"mlp_dropout": 0.1},
    "MLP dropout .5": {"mlp_dropout": 0.5},
    "embedding dropout .1": {"embedding_dropout": 0.1},
    "weight decay 0": {"weight_decay": 0.0},
    "weight decay .01": {"weight_decay": 0.01},
    "weight decay 1": {"weight_decay": 1.0},
}
OPTIMISERS: dict[str, dict[str, Any]] = {
    "batch 8": {"batch": 8},
    "batch 64": {"batch": 64},
    "rate 1e-4": {"rate": 1e-4},
    "rate 1e-3": {"rate": 1e-3},
    "rate 3e-3": {"rate": 3e-3},
    "beta 1 .85": {"betas": (0.85, 0.999)},
    "beta 1 .95": {"betas": (0.95, 0.999)},
    "beta 2 .95": {"betas": (0.9, 0.95)},
    "beta 2 .99": {"betas": (0.9, 0.99)},
}
SHARPENINGS: dict[str, dict[str, Any]] = (
    {f"entropy {weight:g}": {"penalty": weight} for weight in (0.03, 0.1, 0.3, 1.0, 10.0, 30.0)}
    | {"2-norm .01": {"penalty": 0.01, "penalty_kind": "l2"}}
    | {"maximum .01": {"penalty": 0.01, "penalty_kind": "max"}}
    | {"entropy .01, oscillating": {"penalty": 0.01, "schedule": "oscillating"}}
    | {
        f"entropy .01 from step {start}": {"penalty": 0.01, "penalty_start": start}
        for start in (2000, 5000)
    }
)
SWEEP = POSITIONS | UNITS | REGULARISERS | OPTIMISERS | SHARPENINGS
"""One thing at a time; the source's own grid of sharpenings crosses them."""

LAPTOP_SIZES = [(L, d, 2) for L in (1, 2, 4) for d in (32, 64) if (L, d) != (2, 64)]
SOURCE_SIZES = (
    [(L, 512, 8) for L in (2, 4, 8)]
    + [(6, d, 8) for d in (128, 256, 1024)]
    + [(6, 512, H) for H in (2, 4, 16)]
)
"""Layers, width, heads, beside the baseline; the source crosses them."""
