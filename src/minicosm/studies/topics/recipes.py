"""Recipes of the arms: what the one-layer models of each panel and table differ in.

Adam has the source's rate. Gradient descent at that rate needs 1e5 to 1e6 steps, so rates are larger here,
and where the loss is squared the output biases, which bound the rate (their curvature is 2), stay zero, as
in the theory. What the printed rate leads to in 1,500 steps is an arm of its own ("weak").
"""

from typing import Any

ADAM: dict[str, Any] = {"optimiser": "Adam", "rate": 0.01, "steps": 1500}
SGD: dict[str, Any] = {"optimiser": "SGD", "rate": 10.0, "steps": 2500}
SQUARED_SGD = SGD | {"loss": "squared", "output_biases": False}
LONG: dict[str, Any] = {"optimiser": "Adam", "steps": 4000}
CELLS = (
    "cross-entropy, SGD",
    "cross-entropy, Adam",
    "squared, SGD",
    "squared, Adam",
)
_CELLS = dict(zip(CELLS, (SGD, ADAM, SQUARED_SGD, ADAM | {"loss": "squared"}), strict=True))


def cell(figure: str, name: str) -> str:
    """The arm of one panel of a figure."""
    return f"Figure {figure}, {name}"


ARMS: dict[str, dict[str, Any]] = {
    **{cell("2.2", n): r | {"uniform": True, "penalty": 1e-4} for n, r in _CELLS.items()},
    **{cell("2.5", n): r | {"uniform": True} for n, r in _CELLS.items()},
    **{cell("2.6", n): r for n, r in _CELLS.items()},
    cell("2.6", CELLS[0]): SGD | {"steps": 3000},
    "weak, cross-entropy": SGD | {"rate": 0.01, "steps": 1500, "uniform": True},
    "weak, squared": SQUARED_SGD | {"rate": 0.01, "steps": 1500, "uniform": True},
    "stage 1": SQUARED_SGD | {"steps": 4000, "uniform": True, "documents": 20_000, "every": 50},
    "two stages, squared": SQUARED_SGD | {"rate": 30.0, "steps": 1500, "start": 1e-3, "every": 10},
    "two stages, cross-entropy": SGD | {"rate": 5.0, "steps": 1500, "start": 1e-3, "every": 10},
    "defaults, squared": {"loss": "squared", "rate": 1e-3, "steps": 500, "every": 1},
    **{f"Table 2.1, Adam {rate:g}": LONG | {"rate": rate} for rate in (0.003, 0.01, 0.03)},
    "Table 2.1, SGD 10": SGD | {"steps": 6000},
    "joint, squared": LONG | {"loss": "squared", "rate": 0.003},
    "uniform, cross-entropy": LONG | {"rate": 0.01, "uniform": True},
    "uniform, squared": LONG | {"loss": "squared", "rate": 0.003, "uniform": True},
    **{
        cell("2.1", name): recipe | {"one_hot": False, "seeds": 3, "steps": 1500}
        for name, recipe in {
            CELLS[0]: SGD | {"rate": 1.0, "start": 0.1},
            CELLS[1]: ADAM,
            CELLS[2]: SGD | {"loss": "squared", "rate": 0.1, "start": 0.1},
            CELLS[3]: ADAM | {"loss": "squared"},
        }.items()
    },
    "embeddings alone": {
        "one_hot": False, "loss": "squared", "rate": 0.003, "steps": 3000, "seeds": 3,
        "uniform": True, "identity": True, "output_biases": False,
    },
    "Table 2.2, Adam 0.01": LONG | {"one_hot": False, "rate": 0.01, "steps": 2000, "seeds": 10},
    "Table 2.2, Adam 0.003": LONG | {"one_hot": False, "rate": 0.003, "seeds": 10},
}  # fmt: skip
TABLE_2_1 = tuple(f"Table 2.1, {how}" for how in ("Adam 0.003", "Adam 0.01", "Adam 0.03", "SGD 10"))
TABLE_2_2 = tuple(f"Table 2.2, {how}" for how in ("Adam 0.01", "Adam 0.003"))
