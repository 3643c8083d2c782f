"""The flip-flop language, its automata, its sentences and the carry of an addition."""

from .addition import carry_automaton, carry_symbols, sum_digits
from .automata import acceptor, register, tracker
from .language import FlipFlop, FlipFlopSample, LabelledString
from .sentences import LightQuestion, as_sentences, question

__all__ = [
    "FlipFlop",
    "FlipFlopSample",
    "LabelledString",
    "LightQuestion",
    "acceptor",
    "as_sentences",
    "carry_automaton",
    "carry_symbols",
    "question",
    "register",
    "sum_digits",
    "tracker",
]
