"""Corpora of topics, grammars, parities, spins, translation, diffusions and worlds with a tilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from tyro.conf import arg

from minicosm.corpora.corpus import Corpus


@dataclass(kw_only=True)
class SampleIsing(Corpus):
    """Sample an Ising model in which every spin is coupled to every other into a file: `tokens`.

    A token 0 is a spin down, 1 a spin up.
    """

    kind = "ising"

    spins: Annotated[int, arg(help="Number of spins, at most 14.")] = 8
    coupling: Annotated[float, arg(help="Positive: spins want to be alike.")] = 0.2
    field: Annotated[float, arg(help="Positive: spins want to be up.")] = 0.0

    def make(self, key: Any) -> Any:
        import numpy as np

        from minicosm.worlds import Ising

        if self.spins < 1:
            raise ValueError(f"spins is {self.spins}; it must be at least 1")
        J = self.coupling * (np.ones((self.spins, self.spins)) - np.eye(self.spins))
        return Ising(np.full(self.spins, self.field), J).joint()


@dataclass(kw_only=True)
class SampleFertility(Corpus):
    """Sample a world of translation by phrases: `source`, `target` and their lengths.

    Every source word becomes one, two or three target words of its own; both sides are padded with the
    ids after their vocabularies.
    """

    kind = "fertility"

    swap: Annotated[float, arg(help="Probability that two neighbours change places.")] = 0.0
    source_vocab: Annotated[int, arg(help="Number of source words.")] = 30
    shortest: Annotated[int, arg(help="Fewest words of a source.")] = 5
    longest: Annotated[int, arg(help="Most words of a source.")] = 10

    def make(self, key: Any) -> Any:
        from minicosm.worlds import Fertility

        return Fertility(
            [0.5, 0.3, 0.2],
            swap=self.swap,
            source_vocab=self.source_vocab,
            shortest=self.shortest,
            longest=self.longest,
        )


@dataclass(kw_only=True)
class SampleTopics(Corpus):
    """Sample documents of topics that share no words into a file: `tokens` and `mixture`.

    Word i belongs to topic i // words; `mixture` has the probability of every topic in the document.
    """

    kind = "topics"

    topics: Annotated[int, arg(help="Number of topics.")] = 10
    words: Annotated[int, arg(help="Words of a topic.")] = 10
    per_document: Annotated[
        int | None, arg(help="Topics of a document, equally likely; without it, or dirichlet, two.")
    ] = None
    dirichlet: Annotated[
        float | None, arg(help="In place of it: mixtures have a Dirichlet law with this parameter.")
    ] = None
    length: Annotated[int, arg(help="Words per document.")] = 64

    def make(self, key: Any) -> Any:
        from minicosm.worlds import TopicWorld

        few = self.per_document
        if few is None and self.dirichlet is None:
            few = min(2, self.topics)
        return TopicWorld(self.topics, self.words, per_document=few, dirichlet=self.dirichlet)


@dataclass(kw_only=True)
class SampleLDA(Corpus):
    """Sample documents of random topics that share words into a file: `tokens` and `mixture`.

    The file's metadata has the laws of words `W[word][topic]` and the Dirichlet parameters `alpha`.
    """

    kind = "lda"

    topics: Annotated[int, arg(help="Number of topics.")] = 5
    vocab: Annotated[int, arg(help="Number of words.")] = 50
    sparsity: Annotated[float, arg(help="Low: a topic has few words.")] = 0.5
    mixture: Annotated[float, arg(help="Low: a document has few topics.")] = 0.1
    length: Annotated[int, arg(help="Words per document.")] = 64

    def make(self, key: Any) -> Any:
        from minicosm.worlds import LDA

        sizes = {"topics": self.topics, "vocab": self.vocab}
        return LDA.random(key, **sizes, words=self.sparsity, mixture=self.mixture)

    def told(self, world: Any) -> dict[str, Any]:
        return {"W": world.W, "alpha": world.alpha}


@dataclass(kw_only=True)
class SampleGrammar(Corpus):
    """Sample sentences of a layered grammar into a file: `tokens`, `length`, `symbols`, `boundaries`.

    Sentences are padded to the longest with the id V. `symbols` are the ancestors of every token, a row for
    each height from 2 to that of the root in one list; `boundaries` says whether a token is the last one
    under its ancestor.
    """

    kind = "grammar"

    name: Annotated[
        Literal["cfg3b", "cfg3i", "cfg3h", "cfg3g", "cfg3f"],
        arg(help="Which grammar of the source."),
    ] = "cfg3b"
    below: Annotated[
        int, arg(help="Its root: 22 is the whole grammar, 15 has sentences of 18 to 27 tokens.")
    ] = 15

    def make(self, key: Any) -> Any:
        from minicosm.worlds import LayeredPCFG

        return LayeredPCFG.named(self.name, self.below)


@dataclass(kw_only=True)
class SampleParity(Corpus):
    """Sample bits and the class that a sparse parity gives them into a file: `tokens` and `label`.

    A token 0 stands for +1, 1 for -1. With a depth of more than one, parities lead down a tree to one of
    2^depth classes, each by bits of its own.
    """

    kind = "parity"

    bits: Annotated[int, arg(help="Number of bits.")] = 20
    support: Annotated[int, arg(help="Bits of a parity: the first ones, the next ones, ...")] = 3
    depth: Annotated[int, arg(help="Depth of the tree of parities.")] = 1

    def make(self, key: Any) -> Any:
        from minicosm.worlds import HierarchicalParity, SparseParity

        if self.depth == 1:
            return SparseParity(self.bits, self.support)
        return HierarchicalParity(self.bits, self.support, self.depth)


@dataclass(kw_only=True)
class SampleGaussianHMM(Corpus):
    """Sample a hidden Markov world that emits vectors into a file: `observations` and `hidden`.

    `observations` are the vectors, one behind the other in one list; `hidden` has one entry more: the
    state before the first one emits nothing. The metadata has the chain and the means.
    """

    kind = "gaussian-hmm"

    hidden: Annotated[int, arg(help="Number of hidden states.")] = 3
    dimension: Annotated[int, arg(help="Numbers of a vector, at least as many as states.")] = 3
    length: Annotated[int, arg(help="Vectors per sequence.")] = 64

    def make(self, key: Any) -> Any:
        from minicosm.worlds import gaussian_world

        return gaussian_world(key, hidden=self.hidden, dimension=self.dimension)

    def told(self, world: Any) -> dict[str, Any]:
        import numpy as np

        return {name: np.asarray(getattr(world, name)) for name in ("A", "M", "p0")}


@dataclass(kw_only=True)
class SampleDiffusion(Corpus):
    """Sample paths of a diffusion that is observed at a gap into a file: `observations`.

    The potential is x^2 / 2 (the Ornstein-Uhlenbeck diffusion) or x^2 / 2 + log cosh 2x, on a grid.
    """

    kind = "diffusion"

    potential: Annotated[
        Literal["quadratic", "log-cosh"], arg(help="Whose slope pulls to zero.")
    ] = "quadratic"
    gap: Annotated[float, arg(help="The time between two observations.")] = 0.1
    length: Annotated[int, arg(help="Observations per path.")] = 64

    def make(self, key: Any) -> Any:
        from minicosm.worlds import diffusions

        if self.potential == "quadratic":
            return diffusions.OrnsteinUhlenbeck(1.0, self.gap)
        return diffusions.GridDiffusion(diffusions.LOG_COSH, self.gap)


@dataclass(kw_only=True)
class SampleGuided(Corpus):
    """Sample the base law of a world with a tilt into a file: `tokens` and `tilt`.

    Strings are wanted in proportion to their tilt: for brackets 1 if they are balanced, 0 if not.
    """

    kind = "guided"

    family: Annotated[
        Literal["needle", "some-zero", "delayed", "noisy-dyck"],
        arg(help="Bits of which one string, or all but one, are wanted; a late reward; brackets."),
    ] = "noisy-dyck"
    length: Annotated[int, arg(help="Tokens per string.")] = 12
    weight: Annotated[float, arg(help="Of the late reward: what one more is worth.")] = 3.0

    def make(self, key: Any) -> Any:
        from minicosm import worlds

        if self.family == "noisy-dyck":
            return Tilted(worlds.noisy_dyck(self.length))
        if self.family == "delayed":
            return Tilted(worlds.delayed_value(self.length, self.weight))
        return Tilted(
            {"needle": worlds.needle, "some-zero": worlds.some_zero}[self.family](self.length)
        )


class TiltedSample(NamedTuple):
    """A string of the base law and what it is wanted for."""

    tokens: Any
    tilt: Any


@dataclass(frozen=True)
class Tilted:
    """A guided world whose samples know their tilt."""

    world: Any

    def sample(self, key: Any, length: int) -> TiltedSample:
        import jax
        import jax.numpy as jnp

        tokens = self.world.sample(key, length).tokens

        def read(state: Any, now: Any) -> tuple[Any, None]:
            step, token = now
            return step[state, token], None

        steps = jnp.asarray(self.world.step)
        state, _ = jax.lax.scan(read, jnp.zeros((), steps.dtype), (steps, tokens))
        return TiltedSample(tokens, jnp.exp(jnp.asarray(self.world.log_tilt)[state]))
