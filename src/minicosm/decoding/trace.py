"""What a sampler returns."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from minicosm.worlds.arrays import check_whole_numbers

PADDING = -1


class Status(IntEnum):
    """How a row ended."""

    RUNNING = -1
    """Only inside a sampler."""
    DONE = 0
    """The string is complete: it has its full length, or ends in the end token."""
    FAILED = 1
    """The sampler found no continuation that its rule accepts."""
    BUDGET = 2
    """The budget of calls or of time was spent; the string is what there was."""
    INTERIOR = 3
    """VGB stopped at an unfinished string, and was not asked to run again."""


@dataclass(frozen=True)
class Trace:
    """Strings, one a row, and what they cost. Arrays are NumPy's."""

    tokens: Int[np.ndarray, "batch room"]
    """The strings, prompts included; -1 after their end."""
    lengths: Int[np.ndarray, " batch"]
    prompt_lengths: Int[np.ndarray, " batch"]
    calls: Int[np.ndarray, " batch"]
    """Next-token laws that the generator was asked for, one prefix each."""
    verifier_calls: Int[np.ndarray, " batch"]
    backtracks: Int[np.ndarray, " batch"]
    """Times that tokens were taken back: backtracks, rejected tokens, restarts, moves to a parent."""
    status: Int[np.ndarray, " batch"]
    """Values of `Status`."""
    prompt_preserved: Bool[np.ndarray, " batch"]
    """Whether the string still begins with its prompt."""
    quota_left: Int[np.ndarray, " batch"] | None = None
    """Backtracking: how many backtracks were still allowed."""
    fired: Int[np.ndarray, "batch record room"] | None = None
    """Backtracking: the prefixes that were rejected, in order; -1 after their end."""
    fired_lengths: Int[np.ndarray, "batch record"] | None = None
    """Their lengths; -1 where nothing is recorded."""
    score: Float[np.ndarray, " batch"] | None = None
    """Best-of-n: the score of the string that was kept."""
    final_score: Float[np.ndarray, " batch"] | None = None
    """`generate` under a verifier: its score of the string that is returned, which is no call."""
    moves: Int[np.ndarray, " batch"] | None = None
    """VGB: steps of the walk, those that stay and those of reruns included."""
    path: Int[np.ndarray, "batch record"] | None = None
    """VGB: the first moves: a token, -1 to the parent, -2 to stay, -4 to begin again at the prompt (no
    step), -3 where nothing is recorded."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def done(self) -> Bool[np.ndarray, " batch"]:
        return self.status == Status.DONE

    @property
    def accepted(self) -> Bool[np.ndarray, " batch"]:
        """Whether the verifier's score of the string is at least 1/2."""
        if self.final_score is None:
            raise ValueError("the strings were not scored; `generate` with a verifier scores them")
        return self.final_score >= 0.5

    def _row(self, row: Any) -> int:
        return int(check_whole_numbers("row", row, 0, len(self) - 1, ()))

    def string(self, row: int) -> Int[np.ndarray, " n"]:
        """The string of one row, without padding."""
        row = self._row(row)
        return self.tokens[row, : self.lengths[row]]

    def completion(self, row: int) -> Int[np.ndarray, " n"]:
        """What stands after the prompt's place in one row."""
        row = self._row(row)
        return self.tokens[row, self.prompt_lengths[row] : self.lengths[row]]

    def explain(self, row: int) -> str:
        """How one row ended, in a sentence."""
        row = self._row(row)
        n, status = int(self.lengths[row]), Status(int(self.status[row]))
        endings = {
            Status.DONE: f"is complete with {n} tokens",
            Status.FAILED: f"failed: the sampler accepts no token after the first {n}",
            Status.BUDGET: f"stopped at {n} tokens because the budget was spent",
            Status.INTERIOR: f"ended at {n} tokens, an unfinished string",
        }
        spent = f"{self.calls[row]} laws and {self.verifier_calls[row]} scores"
        sentence = f"row {row} {endings[status]}, after {spent}"
        if status == Status.FAILED and n <= self.prompt_lengths[row]:
            sentence += "; if the verifier is exact, the prompt has no valid completion"
        return sentence
