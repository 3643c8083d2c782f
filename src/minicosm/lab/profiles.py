"""Configurations in three sizes: how a study says what each profile runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from minicosm.lab.checking import check_function, check_mapping, shown
from minicosm.lab.claims import ProfileName, Trial

Plan = Callable[[Any], Mapping[str, Trial]]
Trials = Callable[..., Mapping[str, Trial]]


def sized(
    config: type,
    *,
    smoke: Mapping[str, Any],
    laptop: Mapping[str, Any],
    paper: Mapping[str, Any],
) -> Callable[[Plan], Trials]:
    """Turn a function from a configuration to trials into the `trials` of claims.

    `config` is a frozen dataclass with a field `seed`; each profile gives the fields that it sets.
    Every other field is an option of the claims (`--set NAME=VALUE`), typed as it is declared.

        @sized(Worlds, smoke={"worlds": 4}, laptop={"worlds": 200}, paper={"worlds": 1000})
        def head(config: Worlds) -> dict[str, Trial]:
            from .suites import head  # whatever needs JAX is imported when trials are made

            return {"suite": Trial(head.run, config)}
    """
    if (
        not isinstance(config, type)
        or not is_dataclass(config)
        or "seed" not in (f.name for f in fields(config))
    ):
        raise TypeError(f"config is {shown(config)}; it must be a dataclass with a field seed")
    for name, mapping in (("smoke", smoke), ("laptop", laptop), ("paper", paper)):
        check_mapping(name, mapping)
    sizes: dict[ProfileName, Mapping[str, Any]] = {"smoke": smoke, "laptop": laptop, "paper": paper}
    hints = get_type_hints(config)
    known = {f.name: f for f in fields(config)}
    for profile, given in sizes.items():
        for name in given:
            if name not in known or name == "seed":
                raise TypeError(
                    f"profile {profile} sets {name!r}; {config.__name__} has {', '.join(known)}"
                )

    make: Callable[..., Any] = config

    def default(name: str) -> Any:
        if name in laptop:
            return laptop[name]
        f = known[name]
        if f.default_factory is not MISSING:
            return f.default_factory()
        if f.default is MISSING:
            raise TypeError(
                f"{config.__name__}.{name} has no default and profile laptop does not set it"
            )
        return f.default

    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default(name), annotation=hints[name]
        )
        for name in known
        if name != "seed"
    ]
    start = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ("profile", "seed")
    ]

    def decorate(plan: Plan) -> Trials:
        check_function("plan", plan)

        @wraps(plan)
        def trials(profile: ProfileName, seed: int, **given: Any) -> Mapping[str, Trial]:
            return plan(make(seed=seed, **{**sizes[profile], **given}))

        trials.__signature__ = inspect.Signature([*start, *options])  # type: ignore[attr-defined]
        return trials

    return decorate
