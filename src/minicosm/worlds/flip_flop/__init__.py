"""The flip-flop language, its automata, its sentences and the carry of an addition."""

from .addition import carry_automaton, carry_symbols, sum_digits
from .automata import PROBE_A, PROBE_A_WRITES, PROBE_B, PROBE_C, acceptor, register, tracker
from .glitches import Glitches
from .language import FlipFlop, FlipFlopMemory, FlipFlopSample, LabelledString
from .pair_tokens import PairedFlipFlop, PairedSample
from .sentences import LightQuestion, as_sentences, question
from .tails import FlipFlopMixture, TailSample

__all__ = [
    "PROBE_A",
    "PROBE_A_WRITES",
    "PROBE_B",
    "PROBE_C",
    "FlipFlop",
    "FlipFlopMemory",
    "FlipFlopMixture",
    "FlipFlopSample",
    "Glitches",
    "LabelledString",
    "LightQuestion",
    "PairedFlipFlop",
    "PairedSample",
    "TailSample",
    "acceptor",
    "as_sentences",
    "carry_automaton",
    "carry_symbols",
    "question",
    "register",
    "sum_digits",
    "tracker",
]
