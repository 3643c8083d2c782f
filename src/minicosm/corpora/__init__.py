"""The command `minicosm sample`: a world sampled into a file that any framework can train on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import subcommand

from minicosm.corpora.corpus import require_seed
from minicosm.corpora.sequences import (
    SampleAutomaton,
    SampleCompleteDyck,
    SampleDyck,
    SampleFlipFlop,
    SampleHMM,
    SampleMemoryHMM,
)
from minicosm.corpora.structures import (
    SampleDiffusion,
    SampleFertility,
    SampleGaussianHMM,
    SampleGrammar,
    SampleGuided,
    SampleIsing,
    SampleLDA,
    SampleParity,
    SampleTopics,
)

__all__ = ["Sample", "require_seed"]


@dataclass
class Sample:
    """Sample a world into a file that any framework can train on."""

    world: (
        Annotated[SampleHMM, subcommand("hmm", prefix_name=False)]
        | Annotated[SampleMemoryHMM, subcommand("memory-hmm", prefix_name=False)]
        | Annotated[SampleGaussianHMM, subcommand("gaussian-hmm", prefix_name=False)]
        | Annotated[SampleDyck, subcommand("dyck", prefix_name=False)]
        | Annotated[SampleCompleteDyck, subcommand("complete-dyck", prefix_name=False)]
        | Annotated[SampleAutomaton, subcommand("automaton", prefix_name=False)]
        | Annotated[SampleFlipFlop, subcommand("flip-flop", prefix_name=False)]
        | Annotated[SampleParity, subcommand("parity", prefix_name=False)]
        | Annotated[SampleGrammar, subcommand("grammar", prefix_name=False)]
        | Annotated[SampleTopics, subcommand("topics", prefix_name=False)]
        | Annotated[SampleLDA, subcommand("lda", prefix_name=False)]
        | Annotated[SampleIsing, subcommand("ising", prefix_name=False)]
        | Annotated[SampleGuided, subcommand("guided", prefix_name=False)]
        | Annotated[SampleDiffusion, subcommand("diffusion", prefix_name=False)]
        | Annotated[SampleFertility, subcommand("fertility", prefix_name=False)]
    )

    def run(self) -> int:
        return self.world.run()
