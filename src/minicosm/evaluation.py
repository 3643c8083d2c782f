"""Compare any model with the exact law of a world: excess loss, total variation, calibration.

    report = minicosm.evaluate(world, model, length=32)
    print(report)
    report.figure().savefig("model.png")

A model is anything that predicts: one of this package, a world, a PyTorch or Hugging Face module, or a
function from tokens to logits, NumPy in and NumPy out. Causal ones read `(rows, length)` whole numbers
and answer `(rows, length, V)`, at place i the law of the token after it. Masked ones read the token `mask`
where a token is hidden and answer the law of every token.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from minicosm.lab.estimates import Estimate
from minicosm.models.protocols import Generator
from minicosm.worlds.arrays import (
    check_choice,
    check_count,
    check_key,
    check_kind,
    check_length,
    check_number,
    check_size,
    short,
)
from minicosm.worlds.world import CausalWorld, MaskedWorld, World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10

Predict = Callable[[Int[np.ndarray, "n T"]], Any]


@dataclass(frozen=True)
class Evaluation:
    """What a model loses against the best possible predictor, in nats for each predicted token.

    `loss = best + excess`: `best` is the mean entropy of the exact laws p, `excess` the mean of
    `KL(p || q)` for the model's laws q, both exact given the contexts; intervals are over sequences.
    `variation` is the mean total variation `1/2 sum |p - q|`. By position (NaN where nothing was predicted):
    `excess_at`, `variation_at`. For calibration all pairs of a context and a token are sorted into bins
    by the model's probability: `predicted` and `exact` are the means in each, `pairs` how many.
    """

    loss: Estimate
    best: Estimate
    excess: Estimate
    variation: Estimate
    excess_at: Float[np.ndarray, " T"]
    variation_at: Float[np.ndarray, " T"]
    predicted: Float[np.ndarray, " bins"]
    exact: Float[np.ndarray, " bins"]
    pairs: Int[np.ndarray, " bins"]

    def __str__(self) -> str:
        rows = [
            ("loss", self.loss),
            ("best possible", self.best),
            ("excess", self.excess),
            ("total variation", self.variation),
        ]
        lines = [f"{n:16}{e.value:9.4f}  [{e.low:.4f}, {e.high:.4f}]" for n, e in rows]
        return "\n".join([*lines, f"nats a token; 95% intervals over {self.loss.count} sequences"])

    def figure(self) -> Figure:
        """Excess loss and total variation by position, and calibration."""
        from minicosm.lab.figures import PALETTE, figure, house_style

        with house_style():
            fig = figure(9.0, 2.9)
            left, middle, right = fig.subplots(1, 3)
            places = np.arange(1, len(self.excess_at) + 1)
            left.plot(places, self.excess_at)
            left.set(title="Excess loss", xlabel="position", ylabel="nats", ylim=(0, None))
            middle.plot(places, self.variation_at, color=PALETTE[1])
            middle.set(title="Total variation", xlabel="position", ylim=(0, None))
            some = self.pairs > 0
            right.plot([0, 1], [0, 1], linestyle=":", color="0.5")
            right.plot(self.predicted[some], self.exact[some], marker="o", color=PALETTE[2])
            right.set(title="Calibration", xlabel="model's probability", ylabel="exact probability")
        return fig


def evaluate(
    world: World,
    model: Any,
    key: PRNGKeyArray | None = None,
    *,
    length: int = 64,
    count: int = 256,
    batch: int = 32,
    mask: int | None = None,
    rate: float = 0.15,
    start: int | None = None,
    outputs: Literal["logits", "probabilities"] = "logits",
) -> Evaluation:
    """Draw `count` sequences from the world and compare the model's laws with the exact ones.

    Without `mask` the model is causal; with `start`, a token that is put before every sequence, its first
    token is predicted too. With `mask`, `max(1, round(rate * length))` tokens of every sequence are hidden
    from a masked model. The model is given `batch` sequences at a time. It may know more tokens than the
    world: probability that it gives to those is wrong.
    """
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}; it must be an object, made from it")
    check_kind("world", world, World, "a world, with `vocab`, `sample` and `log_prob`")
    key = jax.random.key(0) if key is None else key
    check_key(key)
    check_length(length)
    check_count("count", count, least=2)
    check_count("batch", batch)
    check_size(f"count = {count} sequences of {length} tokens", count * length * world.vocab)
    check_choice("outputs", outputs, ("logits", "probabilities"))
    for name, token in (("mask", mask), ("start", start)):
        if token is not None and check_count(name, token, least=0) >= 2**31:
            raise ValueError(f"{name} is {token}; tokens are less than 2^31")
    if mask is not None and start is not None:
        raise ValueError("mask and start are both given; masked models have no start token")
    if check_number("rate", rate, 0, 1) == 0:
        raise ValueError(f"rate is {rate}; it must lie in (0, 1]")
    predict, outputs = _predictor(model, mask, outputs)
    sampled, hidden, laws = _exact(world, key, length, count, mask, rate, start)

    shown = sampled if mask is None else np.where(hidden, mask, sampled)
    if start is not None:
        shown = np.concatenate([np.full((count, 1), start, shown.dtype), shown[:, :-1]], axis=1)
    asked = np.ones_like(hidden) if mask is None else hidden
    asked = asked & (sampled < world.vocab)  # after the end of a string nothing is predicted
    if mask is None and start is None:
        asked[:, 0] = False
    parts = []
    for first in range(0, count, batch):
        rows = slice(first, first + batch)
        found = _laws(predict(shown[rows]), shown[rows].shape, world.vocab, outputs)
        if mask is None and start is None:  # what is said at i is about i + 1
            found = np.concatenate([np.zeros_like(found[:, :1]), found[:, :-1]], axis=1)
        parts.append(_compared(laws[rows], found, asked[rows]))
    return _summary(parts, asked)


def _exact(
    world: Any,
    key: PRNGKeyArray,
    length: int,
    count: int,
    mask: int | None,
    rate: float,
    start: int | None,
) -> tuple[Int[np.ndarray, "n T"], Bool[np.ndarray, "n T"], Float[np.ndarray, "n T V"]]:
    """Sequences, which of their tokens are hidden, and the law of every token in its place."""
    if mask is not None:
        check_kind("world", world, MaskedWorld, "a world that has `conditionals`")
    else:
        check_kind("world", world, CausalWorld, "a world that has `next_logits`")
        if start is not None:
            check_kind(
                "world", world, Generator, "a world that has `law`, the law of a first token"
            )
    masked = max(1, round(rate * length))

    def one(key: PRNGKeyArray) -> Any:
        token_key, mask_key = jax.random.split(key)
        tokens = world.sample(token_key, length).tokens
        hidden = jnp.zeros(length, bool)
        if mask is not None:
            hidden = hidden.at[jax.random.permutation(mask_key, length)[:masked]].set(True)
            return tokens, hidden, world.conditionals(tokens, ~hidden)
        first = jnp.zeros((1, world.vocab))
        if start is not None:
            first = jnp.exp(world.law(world.begin(0), jnp.int32(0)))[None]
        if length == 1:
            return tokens, hidden, first
        return tokens, hidden, jnp.concatenate([first, jnp.exp(world.next_logits(tokens[:-1]))])

    tokens, hidden, laws = jax.jit(jax.vmap(one))(jax.random.split(key, count))
    return np.asarray(tokens), np.asarray(hidden), np.asarray(laws, np.float64)


def _predictor(
    model: Any, mask: int | None, outputs: Literal["logits", "probabilities"]
) -> tuple[Predict, Literal["logits", "probabilities"]]:
    """A function from tokens to what the model answers, and what that is."""
    if mask is None and getattr(getattr(model, "config", None), "causal", None) is False:
        raise ValueError(
            "the model reads ahead (its config has causal=False): give mask, the token that it reads where "
            "one is hidden; for a Transformer of this package any that is no token, such as the world's vocab"
        )
    if mask is None and hasattr(model, "next_logits"):
        compiled = jax.jit(jax.vmap(model.next_logits))
        return lambda tokens: compiled(jnp.asarray(tokens)), "logits"
    if mask is not None and hasattr(model, "embed") and hasattr(model, "predict"):
        law = jax.jit(jax.vmap(lambda x: model.predict(model.embed(x, x != mask))))
        return lambda tokens: law(jnp.asarray(tokens)), "probabilities"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        device = next((p.device for p in model.parameters()), "cpu")

        def run(tokens: Int[np.ndarray, "n T"]) -> Any:
            with torch.no_grad():
                try:
                    return model(torch.as_tensor(np.asarray(tokens, np.int64), device=device))
                except IndexError as error:
                    raise ValueError(
                        f"the model cannot read the tokens 0..{int(np.max(tokens))} in rows of "
                        f"{np.shape(tokens)[1]}; its vocabulary or its positions are too few ({error})"
                    ) from error

        return run, outputs
    if not callable(model):
        raise TypeError(
            f"model is {short(model)}; it must be a model, or a function from tokens (rows, length) to "
            "logits or probabilities (rows, length, V)"
        )
    return model, outputs


def _laws(
    answer: Any, shape: tuple[int, ...], vocab: int, outputs: Literal["logits", "probabilities"]
) -> Float[np.ndarray, "n T K"]:
    """The model's laws from what it answered; `ValueError` if these are none."""
    answer = getattr(answer, "logits", answer)
    if hasattr(answer, "detach"):  # a tensor
        answer = answer.detach().cpu().float().numpy()
    try:
        if np.iscomplexobj(answer):
            raise TypeError("the model answers complex numbers; logits and probabilities are real")
    except ValueError:  # a ragged list, or a tuple of arrays of several shapes
        raise TypeError(f"the model answers {short(answer)}; it must answer an array") from None
    try:
        found = np.asarray(answer, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"the model answers {short(answer)}; it must answer an array") from None
    if found.ndim != 3 or found.shape[:2] != shape:
        raise ValueError(
            f"the model answers shape {found.shape} for tokens of shape {shape}; it must answer "
            f"({shape[0]}, {shape[1]}, V)"
        )
    if found.shape[2] < vocab:
        raise ValueError(
            f"the model has laws over {found.shape[2]} tokens; the world has {vocab}, and the model must "
            "know them all"
        )
    if np.isnan(found).any():
        row, place, token = (int(i) for i in np.argwhere(np.isnan(found))[0])
        raise ValueError(
            f"the model answers NaN for sequence {row}, position {place + 1}, token {token}"
        )
    if outputs == "logits":
        top = found.max(axis=-1, keepdims=True)
        if not np.isfinite(top).all():
            raise ValueError("the model answers logits of +inf, or of -inf for all tokens")
        found = np.exp(found - top)
        return found / found.sum(axis=-1, keepdims=True)
    sums = found.sum(axis=-1)
    if (found < 0).any() or (np.abs(sums - 1) > 1e-3).any():
        worst = float(sums.flat[np.abs(sums - 1).argmax()])
        raise ValueError(
            f"the model's probabilities are negative or sum to {worst:.4g}; they must sum to 1, or say "
            "outputs='logits'"
        )
    return found / sums[..., None]


def _compared(
    p: Float[np.ndarray, "n T V"], q: Float[np.ndarray, "n T K"], asked: Bool[np.ndarray, "n T"]
) -> dict[str, np.ndarray]:
    """For each position entropy, KL and total variation; and the sums of the bins of calibration."""
    extra = q[..., p.shape[-1] :].sum(axis=-1)
    q = q[..., : p.shape[-1]]
    on = p > 0
    log_p = np.log(np.where(on, p, 1))
    with np.errstate(divide="ignore"):
        log_q = np.log(q)
    entropy = -np.sum(p * log_p, axis=-1)
    kl = np.sum(np.where(on, p * (log_p - np.where(on, log_q, 0)), 0), axis=-1)
    variation = (np.abs(p - q).sum(axis=-1) + extra) / 2
    chosen_p, chosen_q = p[asked].ravel(), q[asked].ravel()
    bins = np.minimum((chosen_q * BINS).astype(int), BINS - 1)
    return {
        "entropy": np.where(asked, entropy, 0),
        "kl": np.where(asked, np.maximum(kl, 0), 0),
        "variation": np.where(asked, variation, 0),
        "pairs": np.bincount(bins, minlength=BINS),
        "predicted": np.bincount(bins, chosen_q, BINS),
        "exact": np.bincount(bins, chosen_p, BINS),
    }


def _summary(parts: list[dict[str, np.ndarray]], asked: Bool[np.ndarray, "n T"]) -> Evaluation:
    rows = {
        name: np.concatenate([p[name] for p in parts]) for name in ("entropy", "kl", "variation")
    }
    pairs, predicted, exact = (
        np.sum([part[name] for part in parts], axis=0) for name in ("pairs", "predicted", "exact")
    )
    some = asked.any(axis=1)
    if not some.any():
        raise ValueError("no token was predicted; length must be at least 2, or give a start token")
    each = asked[some].sum(axis=1)

    def mean(*names: str) -> Estimate:
        values = sum(rows[name][some].sum(axis=1) for name in names) / each
        if not np.isfinite(values).all():
            return Estimate(float("inf"), float("inf"), float("inf"), int(some.sum()))
        return Estimate.of(values)

    with np.errstate(invalid="ignore"):
        at = {name: rows[name].sum(axis=0) / asked.sum(axis=0) for name in ("kl", "variation")}
        centres = predicted / pairs, exact / pairs
    return Evaluation(
        loss=mean("entropy", "kl"),
        best=mean("entropy"),
        excess=mean("kl"),
        variation=mean("variation"),
        excess_at=at["kl"],
        variation_at=at["variation"],
        predicted=centres[0],
        exact=centres[1],
        pairs=pairs,
    )
