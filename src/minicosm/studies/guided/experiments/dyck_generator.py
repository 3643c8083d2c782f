"""Generators trained on balanced brackets, several at once, and kept while they still err on prompts
of another law.

A string is the start token, D brackets and the end token. Prompts are beginnings of strings whose
square and round brackets have changed roles: square ones are as frequent as round ones were.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.lab import Progress
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import History, adamw, fit_ensemble
from minicosm.training.averaging import Averaged, OnLive, averaged
from minicosm.worlds import CompleteDyck, Dyck
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.dyck.errors import DyckReferee

from ..trials import BracketGenerators

END, START = 4, 5
"""Ids after those of the brackets `[ ] ( )`."""
GLYPHS = "[]()EB"


def training_world(config: BracketGenerators) -> CompleteDyck:
    """The law that generators are trained on."""
    return _world(config, config.square)


def prompt_world(config: BracketGenerators) -> CompleteDyck:
    """The law of the strings that prompts come from."""
    return _world(config, 1 - config.square)


def _world(config: BracketGenerators, square: float) -> CompleteDyck:
    # No string of this length nests deeper than half of it, so nothing is cut off.
    kinds = Dyck(2, config.length // 2, config.opening, (square, 1 - square))
    return CompleteDyck(kinds, config.length, closing="forced")


def referee(config: BracketGenerators) -> DyckReferee:
    return DyckReferee(2, config.length // 2, config.length)


def shape(config: BracketGenerators) -> TransformerConfig:
    return TransformerConfig(
        END + 1, layers=config.layers, heads=config.heads, width=config.width,
        mlp_width=config.mlp_width, max_length=config.length + 2, causal=True, extra_inputs=1,
        tied=False, residual_scaling=True,
    )  # fmt: skip


class StringObjective(eqx.Module):
    """Mean cross-entropy of the brackets and the end token of a batch of fresh strings."""

    world: CompleteDyck
    batch: int = eqx.field(static=True)

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        tokens = draw(self.world, key, self.batch)
        logits = jax.vmap(model.next_logits)(after_start(tokens))
        following = jnp.pad(tokens, ((0, 0), (0, 1)), constant_values=END)
        laws = jax.nn.log_softmax(logits)
        losses = -jnp.take_along_axis(laws, following[..., None], axis=-1)
        return jnp.mean(losses), {"tokens": jnp.asarray(losses.size, losses.dtype)}


def draw(world: CompleteDyck, key: PRNGKeyArray, count: int) -> Int[Array, "count D"]:
    return jax.vmap(lambda k: world.sample(k).tokens)(jax.random.split(key, count))


def after_start(tokens: Int[AnyArray, "n D"]) -> Int[Array, "n D+1"]:
    return jnp.pad(jnp.asarray(tokens), ((0, 0), (1, 0)), constant_values=START)


class Prompts(eqx.Module):
    """Beginnings of strings: of `tokens[i]` the first `lengths[i]` brackets."""

    tokens: Int[AnyArray, "n D"]
    lengths: Int[AnyArray, " n"]


def prompts(
    config: BracketGenerators, key: PRNGKeyArray, count: int, *, shifted: bool = True
) -> Prompts:
    """Beginnings of strings of the shifted law, or of that of training, with lengths `shortest`..D - 1."""
    string_key, length_key = jax.random.split(key)
    lengths = jax.random.randint(length_key, (count,), config.shortest, config.length)
    world = prompt_world(config) if shifted else training_world(config)
    return Prompts(draw(world, string_key, count), lengths)


def wrong_tokens(judge: DyckReferee, tokens: Int[Array, " T"]) -> Bool[Array, "T+1 V"]:
    """Which next tokens are errors, before the first token and after each, in a valid string."""

    def read(reading: Any, token: Int[Array, ""]) -> tuple[Any, Bool[Array, " V"]]:
        then = jax.vmap(judge.step, (None, 0))(reading, jnp.arange(END + 1))
        return judge.step(reading, token), then.error > 0

    padded = jnp.append(jnp.asarray(tokens), END)
    return jax.lax.scan(read, judge.start(), padded)[1]


@eqx.filter_jit
def mass_on_errors(
    model: Any, judge: DyckReferee, tokens: Int[AnyArray, "n D"]
) -> tuple[Float[Array, "n D+1"], Bool[Array, "n D+1"], Bool[Array, "n D+1"]]:
    """For every position of valid strings: the probability that the model gives to wrong tokens;
    whether its likeliest token is right; and whether a closed bracket stands there."""

    def one(string: Int[Array, " D"]) -> tuple[Array, Array, Array]:
        laws = jax.nn.softmax(model.next_logits(after_start(string[None])[0]))
        wrong = wrong_tokens(judge, string)
        closed = jnp.append(string % 2 == 1, False)
        # Among closed brackets alone, as the source counts accuracy.
        best = 2 * jnp.argmax(laws[:, 1:END:2], axis=-1) + 1
        right = best == jnp.append(string, END)
        return jnp.sum(jnp.where(wrong, laws, 0), axis=-1), right, closed

    return jax.lax.map(one, tokens, batch_size=min(200, len(tokens)))


@eqx.filter_jit
def completion_error(
    model: Any, judge: DyckReferee, tokens: Int[AnyArray, "n D"], lengths: Int[AnyArray, " n"]
) -> Float[Array, ""]:
    """The mean over prompts of `1 - prod_{i > N} (1 - m_i)`, m_i the mass on wrong tokens at
    position i of the string that the prompt comes from.

    That is the probability of an error where the model's right tokens follow the strings' own law;
    it needs one reading of each string and no sampling.
    """
    mass = mass_on_errors(model, judge, tokens)[0]
    late = jnp.arange(mass.shape[1]) >= lengths[:, None]
    return 1 - jnp.mean(jnp.prod(jnp.where(late, 1 - mass, 1), axis=1))


@lru_cache
def optimiser(rate: float, steps: int) -> optax.GradientTransformation:
    warm = min(100, steps)
    return averaged(adamw(rate, steps, warm, decay="linear", clip=None, weight_decay=0.1))


def train(
    config: BracketGenerators, progress: Progress, folder: Path
) -> tuple[Transformer, History]:
    """The generators, stacked, each with the average of its weights at the moment it was kept (or
    at the end, if it never was), and the history of all."""
    key = jax.random.key(config.seed)
    start_key, train_key, watch_key = jax.random.split(key, 3)
    models = eqx.filter_vmap(lambda k: Transformer(shape(config), key=k))(
        jax.random.split(start_key, config.members)
    )
    objective = jax.tree.map(
        lambda leaf: np.broadcast_to(np.asarray(leaf, np.float32), (config.members, *leaf.shape)),
        StringObjective(training_world(config), config.batch),
    )
    asked = prompts(config, watch_key, config.watched)
    judge, kept = referee(config), Kept(folder / "kept.eqx", models, config.members)

    @eqx.filter_jit
    def errors(models: Any) -> Float[Array, " members"]:
        each = eqx.filter_vmap(completion_error, in_axes=(eqx.if_array(0), None, None, None))
        return each(models, judge, asked.tokens, asked.lengths)

    def watch(pair: Averaged, done: int) -> dict[str, Any]:
        error = errors(pair.average)
        reached = np.asarray(error) <= config.kept_at
        kept.offer(pair.average, reached | (done >= config.steps), done)
        return {"ood": error}

    _, history = fit_ensemble(
        OnLive(objective),
        Averaged.start(models),
        optimiser(config.rate, config.steps),
        config.steps,
        jax.random.split(train_key, config.members),
        chunk=min(config.watch_every, config.steps),
        progress=lambda done, total, note="": progress(done, total, f"generators {note}"),
        watch=watch,
        target={"ood": config.kept_at},
        checkpoint=folder / "training.npz",
    )
    return kept.models, history | {"kept": kept.steps}


class Kept:
    """The first offer that each member accepted, in a file that survives a kill."""

    def __init__(self, path: Path, like: Any, members: int) -> None:
        self.path, self.models = path, like
        self.steps = np.zeros(members, int)
        if path.exists():
            self.models, steps = eqx.tree_deserialise_leaves(path, (like, jnp.zeros(members, int)))
            self.steps = np.array(steps)

    def offer(self, models: Any, ready: Bool[np.ndarray, " members"], step: int) -> None:
        new = ready & (self.steps == 0)
        if not new.any():
            return
        self.models = jax.tree.map(
            lambda now, old: jnp.where(new.reshape(-1, *[1] * (now.ndim - 1)), now, old),
            models,
            self.models,
        )
        self.steps = np.where(new, step, self.steps)
        part = self.path.with_suffix(".part")
        eqx.tree_serialise_leaves(part, (self.models, jnp.asarray(self.steps)))
        part.rename(self.path)
