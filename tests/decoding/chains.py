"""The referee: each sampler as a finite Markov chain in plain Python, solved by linear algebra.

A chain is a function from a state to its moves `(probability, next state, calls, verifier calls)`; a
state that is an `Ended` is an end.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve
from tables import VOCAB, PrefixWorld, is_leaf, node


class Ended(NamedTuple):
    string: tuple[int, ...]
    status: str = "done"


class Outcome(NamedTuple):
    law: dict[Ended, float]
    calls: float
    verifier_calls: float


def solve(moves, start) -> Outcome:
    """Laws of the ends and expected counts: `x (I - P) = e_0`, x the expected visits of all states
    that can be reached."""
    index, queue, rows = {start: 0}, [start], []
    for state in queue:
        here = []
        for p, to, calls, verifier_calls in moves(state):
            if p <= 0:
                continue
            if not isinstance(to, Ended) and to not in index:
                index[to] = len(queue)
                queue.append(to)
            here.append((p, to, calls, verifier_calls))
        rows.append(here)
    size = len(queue)
    ends = sorted({to for row in rows for _, to, _, _ in row if isinstance(to, Ended)}, key=repr)
    place = {end: i for i, end in enumerate(ends)}
    leave = np.zeros((size, len(ends) + 2))
    entries = [(i, i, 1.0) for i in range(size)]
    for i, row in enumerate(rows):
        for p, to, calls, verifier_calls in row:
            if isinstance(to, Ended):
                leave[i, 2 + place[to]] += p
            else:
                entries.append((index[to], i, -p))
            leave[i, :2] += p * calls, p * verifier_calls
    to, origin, weight = map(np.array, zip(*entries, strict=True))
    first = np.zeros(size)
    first[0] = 1
    visits = spsolve(csc_array((weight, (to, origin)), (size, size)), first)
    found = visits @ leave
    return Outcome(dict(zip(ends, found[2:], strict=True)), found[0], found[1])


def ancestral(laws):
    def moves(s):
        for a in range(VOCAB):
            longer = (*s, a)
            yield laws[node(s), a], Ended(longer) if is_leaf(longer) else longer, 1, 0

    return moves


def rejection(world: PrefixWorld):
    def moves(s):
        for a in range(VOCAB):
            longer, p = (*s, a), world.laws[node(s), a]
            if not is_leaf(longer):
                yield p, longer, 1, 0
            else:
                yield p, Ended(longer) if world.valid[longer] else (), 1, 1

    return moves


def best_of(world: PrefixWorld, scores, count, size):
    """Blocks of `size` tokens, `count` candidates each; states (kept, candidate, best, tried)."""

    def moves(state):
        kept, s, best, tried = state
        for a in range(VOCAB):
            longer, p = (*s, a), world.laws[node(s), a]
            if not is_leaf(longer) and len(longer) - len(kept) < size:
                yield p, (kept, longer, best, tried), 1, 0
                continue
            top = longer if best is None or scores[node(longer)] > scores[node(best)] else best
            if tried + 1 < count:
                yield p, (kept, kept, top, tried + 1), 1, 1
            else:
                yield p, Ended(top) if is_leaf(top) else (top, top, None, 0), 1, 1

    return moves, ((), (), None, 0)


def tokenwise(world: PrefixWorld, scores, envelope=1.0):
    """Keep a drawn token with probability score / envelope."""

    def moves(s):
        for a in range(VOCAB):
            longer, p = (*s, a), world.laws[node(s), a]
            keep = scores[node(longer)] / envelope
            yield p * keep, Ended(longer) if is_leaf(longer) else longer, 1, 1
            yield p * (1 - keep), s, 1, 1

    return moves


def value_guided(world: PrefixWorld, scores):
    def moves(s):
        weights = np.array([world.laws[node(s), a] * scores[node((*s, a))] for a in range(VOCAB)])
        if weights.sum() == 0:
            yield 1, Ended(s, "failed"), 1, VOCAB
            return
        for a in range(VOCAB):
            longer = (*s, a)
            yield (
                weights[a] / weights.sum(),
                Ended(longer) if is_leaf(longer) else longer,
                1,
                VOCAB,
            )

    return moves


def vgb(world: PrefixWorld, scores, output, steps, rerun):
    """States (string, time, time of the end)."""

    def end(s, t, stop):
        if output == "first":
            return Ended(s) if is_leaf(s) else (s, 0, None)
        if t < stop:
            return s, t, stop
        if is_leaf(s):
            return Ended(s)
        return ((), 0, None) if rerun else Ended(s, "interior")

    def moves(state):
        s, t, stop = state
        if stop is None and output == "uniform":
            for chosen in range(1, steps + 1):
                yield 1 / steps, (s, t, chosen), 0, 0
            return
        stop = steps if stop is None else stop
        down = np.zeros(VOCAB)
        if not is_leaf(s):
            down = np.array([world.laws[node(s), a] * scores[node((*s, a))] for a in range(VOCAB)])
        up = scores[node(s)] if s else 0.0
        total, cost = up + down.sum(), (0, 0) if is_leaf(s) else (1, VOCAB)
        yield 0.5, end(s, t + 1, stop), 0, 0
        if total == 0:
            yield 0.5, Ended(s, "failed"), *cost
            return
        yield 0.5 * up / total, end(s[:-1], t + 1, stop), *cost
        for a in range(VOCAB):
            yield 0.5 * down[a] / total, end((*s, a), t + 1, stop), *cost

    return moves, ((), 0, None)


def vgb_by_proposals(world: PrefixWorld, scores, kind, steps, envelope):
    """ "repeat" or "hold", the string after `steps`; states (string, time, whether it has to move)."""

    def end(s, t):
        if t < steps:
            return s, t, False
        return Ended(s) if is_leaf(s) else Ended(s, "interior")

    def moves(state):
        s, t, awake = state
        here, leaf = scores[node(s)], is_leaf(s)
        if kind == "repeat" and not awake:
            yield 0.5, end(s, t + 1), 0, 0
            yield 0.5, (s, t, True), 0, 0
            return
        refused = (s, t, True) if kind == "repeat" else end(s, t + 1)
        up = 0 if not s else here / envelope if kind == "repeat" else 1 / envelope
        yield 0.5 * up, end(s[:-1], t + 1), 0, 0
        yield 0.5 * (1 - up), refused, 0, 0
        if leaf:
            yield 0.5, refused, 0, 0
            return
        for a in range(VOCAB):
            p = 0.5 * world.laws[node(s), a]
            keep = scores[node((*s, a))] / envelope / (1 if kind == "repeat" else here)
            yield p * keep, end((*s, a), t + 1), 1, 1
            yield p * (1 - keep), refused, 1, 1

    return moves, ((), 0, False)


def backtracking(world: PrefixWorld, scores, prompt=(), *, quota, stride, **switches):
    """Algorithm 1 after its text; states (string, quota, refill until, erased, prefixes that fired)."""
    refill = switches.get("refill", "argmax")
    erasable = switches.get("erasable_prompt", 0)
    least = 0 if erasable is None else max(0, len(prompt) - erasable)

    def check(state, ask, force=False):
        """The state after the check, and the verifier calls."""
        s, q, until, erased, fired = state
        cost = int(ask and q > 0 and not force)
        if not force and not (cost and scores[node(s)] < 0.5):
            return state, cost
        if switches.get("once_per_prefix") and s in fired and not force:
            return state, cost
        shorter = s[: max(least, len(s) - stride)] if len(s) > least else s
        fired = (*fired, s) if switches.get("once_per_prefix") else ()
        return (shorter, q - 1, max(until, len(s)), erased + len(s) - len(shorter), fired), cost

    def moves(state):
        s, _, until, erased, _ = state
        law = world.laws[node(s)]
        filling = {
            "argmax": len(s) < until,
            "index": len(s) - len(prompt) < erased,
            "none": False,
        }[refill]
        law = np.eye(VOCAB)[np.argmax(law)] if filling else law
        for a in range(VOCAB):
            new, cost = check(
                ((*s, a), *state[1:]), switches.get("check_during_refill") or not filling
            )
            # Keep `until` small, so that equal states are found equal.
            new = (*new[:2], new[2] if new[2] > len(new[0]) else 0, *new[3:])
            new = new if refill == "index" else (*new[:3], 0, new[4])
            yield law[a], Ended(new[0]) if is_leaf(new[0]) else new, 1, cost

    start = (tuple(prompt), quota, 0, 0, ())
    start, extra = check(
        start, switches.get("check_prompt", False), switches.get("force_first", False)
    )
    return moves, start, extra
