"""Test cases for a function that appends to a list: lines that are mostly right, in known ways wrong.

A text is `def NAME \\n`, then lines `assert NAME ( [ 4 , 1 ] , 7 ) == [ 4 , 1 , 7 ] \\n`, then `<eos>`.
It stands in for what a code model writes when it is asked for tests.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import AnyArray, check_count, check_distribution, is_concrete, parameter
from ..dyck.strings import safe_log
from .case_states import MARKS, CaseLines, CaseSample, CaseState, CaseTokens, Slot


class AppendCases(CaseTokens):
    """The law of such texts; a `Generator`.

    In a line the list has k = 0..K elements with equal probabilities, and elements and item are
    uniform digits. The right-hand side is of one of five kinds: correct (the item after the list),
    prepended (before it), sorted (all digits in order), wrong digit (one place, uniform, has another
    digit, uniform), or junk: it stops before one of its tokens, uniformly chosen, at a `def`, and
    uniform tokens follow until a line break or `<eos>` is among them. For misleading names the
    probabilities of prepended and sorted are `misled` times as large, at the cost of correct.

    After the header every token is replaced by a uniform one with probability `noise`. What follows
    is meant for the text as it stands: the right-hand side repeats the list that is written. Where a
    text is no beginning of any line of its kind any more, the line breaks off.

    The kind of a line is hidden; `alive`, `junk` and `weights` of `CaseState` are the exact Bayes
    filter over it: `P(a | u) = sum_z P(z | u) P_z(a | u)` with
    `P_z(a | u) = (1 - noise) b_z(a | u) + noise / V`. Hypotheses z are the first three kinds, the place
    of the wrong digit (K + 1 of them), and where it stops (2K + 3).
    """

    kind_probabilities: Float[AnyArray, " 5"]
    noise: Float[AnyArray, ""]
    misled: Float[AnyArray, ""]

    def __init__(
        self,
        kind_probabilities: Any = (0.80, 0.10, 0.04, 0.03, 0.03),
        *,
        noise: float = 0.005,
        misled: float = 3.0,
        names: int = 20,
        misleading: int = 10,
        lines: int = 8,
        longest: int = 5,
        digits: int = 10,
    ):
        """`names` ordinary names, then `misleading` ones; `lines` lines with lists of up to `longest`
        of `digits` different digits."""
        self.kind_probabilities = parameter("kind_probabilities", kind_probabilities, (5,))
        check_distribution("kind_probabilities", self.kind_probabilities, columns=False)
        self.names = check_count("names", names)
        self.misleading = check_count("misleading", misleading, least=0)
        self.lines = check_count("lines", lines)
        self.longest = check_count("longest", longest, least=0)
        self.digits = check_count("digits", digits, least=2)
        self.noise = parameter("noise", noise, ())
        self.misled = parameter("misled", misled, ())
        if is_concrete(self.noise, self.misled, self.kind_probabilities):
            if not 0 <= self.noise < 1:
                raise ValueError(f"noise is {noise}; it must be at least 0 and less than 1")
            gain = (float(self.misled) - 1) * float(np.sum(self.kind_probabilities[1:3]))
            if gain > self.kind_probabilities[0]:
                raise ValueError(
                    f"misled is {misled}; prepended and sorted would take {gain:g} from the "
                    f"probability {self.kind_probabilities[0]:g} of a correct line"
                )

    # -- hypotheses ---------------------------------------------------------------------------

    @property
    def hypotheses(self) -> int:
        return 3 + (self.longest + 1) + (2 * self.longest + 3)

    def prior(self, name: Int[AnyArray, ""], size: Int[AnyArray, ""]) -> Float[Array, " Z"]:
        """The law of the hypotheses for a list of `size` elements and the name with this token."""
        kinds = jnp.asarray(self.kind_probabilities)
        factor = jnp.where(name >= self.first_name + self.names, self.misled, 1)
        wrong = factor * kinds[1:3]
        correct = kinds[0] - jnp.sum(wrong - kinds[1:3])
        places = jnp.arange(self.longest + 1) <= size
        stops = jnp.arange(2 * self.longest + 3) <= 2 * size + 2
        return jnp.concatenate(
            [
                correct[None],
                wrong,
                kinds[3] * places / (size + 1),
                kinds[4] * stops / (2 * size + 3),
            ]
        )

    def _meant(self, state: CaseState) -> tuple[Int[Array, " Z"], Bool[Array, " Z"]]:
        """The token that each living hypothesis has next after `==`, and whether it is any digit but
        this one."""
        K, size, place = self.longest, state.size, state.place
        order = jnp.arange(K + 1)
        item = state.digits[size]
        prepended = jnp.where(order == 0, item, jnp.roll(state.digits, 1))
        ordered = jnp.sort(jnp.where(order <= size, state.digits, self.digits))
        which = jnp.clip((place - 1) // 2, 0, K)
        digit = jnp.stack([state.digits[which], prepended[which], ordered[which]])
        token = jnp.select(
            [place == 0, place == 2 * size + 2, place >= 2 * size + 3, place % 2 == 0],
            [self.mark("["), self.mark("]"), self.mark("\n"), self.mark(",")],
            digit,
        )
        wrong_here = (place == 2 * order + 1) & (order <= size)
        stop_here = jnp.arange(2 * K + 3) == place
        tokens = jnp.concatenate(
            [
                token,
                jnp.full(K + 1, token[0]),
                jnp.where(stop_here, self.mark("def"), token[0]),
            ]
        )
        other = jnp.zeros(self.hypotheses, bool).at[3 : K + 4].set(wrong_here)
        return tokens, other

    def _right(self, state: CaseState, token: Int[Array, "*n"]) -> Float[Array, "*n Z"]:
        """`b_z(token | u)` after `==`, for every hypothesis."""
        tokens, other = self._meant(state)
        token = token[..., None]
        others = (token < self.digits) & (token != tokens)
        living = jnp.where(other, others / (self.digits - 1), token == tokens)
        laws = jnp.where(state.alive, living, token == self.mark("\n"))
        return jnp.where(state.junk, 1 / self.vocab, laws)

    # -- reading and the next token -----------------------------------------------------------

    def start(self) -> CaseState:
        zero = jnp.zeros((), jnp.int32)
        return CaseState(
            zero, zero, zero, zero,
            jnp.zeros(self.longest + 1, jnp.int32), zero,
            jnp.ones(self.hypotheses, bool), jnp.zeros(self.hypotheses, bool),
            jnp.zeros(self.hypotheses).at[0].set(1),
        )  # fmt: skip

    def _continues(self, size: Int[Array, ""]) -> Float[Array, ""]:
        """The probability that a list of `size` elements goes on: k is uniform."""
        return (self.longest - size) / (self.longest - size + 1)

    def _base(self, state: CaseState) -> Float[Array, " V"]:
        """What is meant next, noise aside."""
        mark = {text: jax.nn.one_hot(self.mark(text), self.vocab) for text in MARKS}
        ids = jnp.arange(self.vocab)
        digit = (ids < self.digits) / self.digits
        any_name = (ids >= self.first_name) / (self.names + self.misleading)
        more = self._continues(state.size)
        rows = [
            mark["def"],
            any_name,
            mark["\n"],
            jnp.where(state.line < self.lines, mark["assert"], mark["<eos>"]),
            jax.nn.one_hot(state.name, self.vocab),
            mark["("],
            mark["["],
            more * digit + (1 - more) * mark["]"],
            more * mark[","] + (1 - more) * mark["]"],
            digit,
            mark[","],
            digit,
            mark[")"],
            mark["=="],
            self._right(state, ids) @ state.weights,
            mark["\n"],
            mark["<eos>"],
            mark["<eos>"],
        ]
        return jnp.stack(rows)[state.slot]

    def _noise_at(self, state: CaseState) -> Float[Array, ""]:
        """There is none in the header nor after the end."""
        quiet = (state.slot < Slot.LINE) | (state.slot >= Slot.ENDED)
        return jnp.where(quiet, 0, jnp.asarray(self.noise))

    def log_law(self, state: CaseState) -> Float[Array, " V"]:
        """`log P(a | u)`; after `<eos>` it is certain to come again."""
        noise = self._noise_at(state)
        return safe_log((1 - noise) * self._base(state) + noise / self.vocab)

    def step(self, state: CaseState, token: Int[Array, ""]) -> CaseState:
        """Read one token. An impossible header ends the text."""
        token = jnp.asarray(token, jnp.int32)
        is_digit = token < self.digits
        is_mark = {text: token == self.mark(text) for text in MARKS}
        slot, size = state.slot, state.size
        fits_right = jnp.where(is_mark["\n"], Slot.LINE, Slot.RIGHT)
        row = [
            jnp.where(is_mark["def"], Slot.HEADER_NAME, Slot.ENDED),
            jnp.where(token >= self.first_name, Slot.HEADER_BREAK, Slot.ENDED),
            jnp.where(is_mark["\n"], Slot.LINE, Slot.ENDED),
            jnp.where(is_mark["assert"], Slot.NAME, Slot.BROKEN),
            jnp.where(token == state.name, Slot.OPEN, Slot.BROKEN),
            jnp.where(is_mark["("], Slot.LIST, Slot.BROKEN),
            jnp.where(is_mark["["], Slot.FIRST, Slot.BROKEN),
            jnp.select(
                [is_digit & (self.longest > 0), is_mark["]"]],
                [Slot.ELEMENT, Slot.COMMA],
                Slot.BROKEN,
            ),
            jnp.select(
                [is_mark[","] & (size < self.longest), is_mark["]"]],
                [Slot.DIGIT, Slot.COMMA],
                Slot.BROKEN,
            ),
            jnp.where(is_digit, Slot.ELEMENT, Slot.BROKEN),
            jnp.where(is_mark[","], Slot.ITEM, Slot.BROKEN),
            jnp.where(is_digit, Slot.CLOSE, Slot.BROKEN),
            jnp.where(is_mark[")"], Slot.EQUALS, Slot.BROKEN),
            jnp.where(is_mark["=="], Slot.RIGHT, Slot.BROKEN),
            fits_right,
            jnp.asarray(Slot.BROKEN),
            jnp.asarray(Slot.ENDED),
            jnp.asarray(Slot.DONE),
        ]
        after = jnp.stack([jnp.asarray(r, jnp.int32) for r in row])[slot]
        in_line = (slot >= Slot.LINE) & (slot < Slot.ENDED)
        after = jnp.where(in_line & is_mark["\n"], Slot.LINE, after)
        done = (slot == Slot.DONE) | ((slot == Slot.LINE) & (state.line >= self.lines))
        after = jnp.where(is_mark["<eos>"], jnp.where(done, Slot.DONE, Slot.ENDED), after)
        new_line = after == Slot.LINE
        alive, junk, weights = self._filtered(state, token)
        grows = (after == Slot.ELEMENT) | ((slot == Slot.ITEM) & (after == Slot.CLOSE))
        digits = jnp.where(grows & (jnp.arange(self.longest + 1) == size), token, state.digits)
        name = jnp.where(slot == Slot.HEADER_NAME, token, state.name)
        size = jnp.where(new_line, 0, size + (after == Slot.ELEMENT))
        stays = (slot == Slot.RIGHT) & ~new_line
        none = jnp.zeros(self.hypotheses, bool)
        return CaseState(
            after,
            name,
            state.line + (in_line & new_line),
            size,
            jnp.where(new_line, 0, digits),
            jnp.where(stays, state.place + 1, 0),
            jnp.where(stays, alive, ~none),
            jnp.where(stays, junk, none),
            jnp.where(stays, weights, self.prior(name, size)),
        )

    def _filtered(
        self, state: CaseState, token: Int[Array, ""]
    ) -> tuple[Bool[Array, " Z"], Bool[Array, " Z"], Float[Array, " Z"]]:
        """The hypotheses after one more token of a right-hand side."""
        noise = jnp.asarray(self.noise)
        laws = (1 - noise) * self._right(state, token) + noise / self.vocab
        weights = state.weights * laws
        total = jnp.sum(weights)
        # Impossible texts, which exist only without noise, leave the weights as they were.
        weights = jnp.where(total > 0, weights / jnp.where(total > 0, total, 1), state.weights)
        tokens, other = self._meant(state)
        agrees = jnp.where(other, (token < self.digits) & (tokens != token), tokens == token)
        stops = jnp.arange(self.hypotheses) >= self.longest + 4
        dissolves = state.alive & stops & (tokens == self.mark("def")) & agrees
        return state.alive & agrees & ~dissolves, state.junk | dissolves, weights

    # -- the protocols ------------------------------------------------------------------------

    def begin(self, room: int) -> CaseState:
        """The memory of a `Generator`: the state after every number of tokens."""
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (room + 1, *leaf.shape)), self.start()
        )

    def read(self, memory: CaseState, n: Int[Array, ""], token: Int[Array, ""]) -> CaseState:
        state = self.step(self.state(memory, n), token)

        def put(rows: Array, row: Array) -> Array:
            # A select: under `vmap`, an index would become a scatter.
            here = (jnp.arange(rows.shape[0]) == n + 1).reshape(-1, *[1] * row.ndim)
            return jnp.where(here, row, rows)

        return jax.tree.map(put, memory, state)

    def state(self, memory: CaseState, n: Int[Array, ""]) -> CaseState:
        return jax.tree.map(lambda rows: rows[n], memory)

    def law(self, memory: CaseState, n: Int[Array, ""]) -> Float[Array, " V"]:
        return self.log_law(self.state(memory, n))

    def sample(
        self,
        key: PRNGKeyArray,
        length: int | None = None,
        name: Int[AnyArray, ""] | int | None = None,
    ) -> CaseSample:
        """Draw a text, cut off at `length` tokens (by default none is); with a name of this number, or a
        uniform one."""
        room = self.room if length is None else check_count("length", length)

        def one(state: CaseState, key: PRNGKeyArray) -> tuple[CaseState, tuple[Array, Array]]:
            law = self.log_law(state)
            token = jax.random.categorical(key, law)
            if name is not None:
                token = jnp.where(state.slot == Slot.HEADER_NAME, self.first_name + name, token)
            return self.step(state, token), (token.astype(jnp.int32), law)

        _, (tokens, laws) = jax.lax.scan(one, self.start(), jax.random.split(key, room))
        size = jnp.minimum(jnp.sum(tokens != self.end) + 1, room)
        return CaseSample(tokens, laws, size)

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T V"]:
        """`log P(X_{i+1} | X_{1:i})` for i = 1..T."""
        return jax.vmap(self.log_law)(self.states(tokens))

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P(X_{1:T} = tokens)`; what follows `<eos>` does not count."""
        tokens = jnp.asarray(tokens)
        laws = jnp.concatenate([self.log_law(self.start())[None], self.next_logits(tokens)[:-1]])
        each = jnp.take_along_axis(laws, tokens[:, None], axis=-1)[:, 0]
        before = jnp.concatenate([jnp.zeros(1, bool), tokens[:-1] == self.end])
        return jnp.sum(jnp.where(jnp.cumsum(before) > 0, 0, each))

    def states(self, tokens: Int[AnyArray, " T"]) -> CaseState:
        """The state after each token."""

        def one(state: CaseState, token: Int[Array, ""]) -> tuple[CaseState, CaseState]:
            state = self.step(state, token)
            return state, state

        return jax.lax.scan(one, self.start(), jnp.asarray(tokens))[1]

    # -- what is right ------------------------------------------------------------------------

    def viable(self, state: CaseState) -> Bool[Array, ""]:
        """Whether the line being written can still become a correct one: the perfect process verifier.

        The header can, and the end of a text with all its lines is none the worse.
        """
        right = (state.slot != Slot.RIGHT) | state.alive[0]
        return right & (state.slot != Slot.BROKEN) & (state.slot != Slot.ENDED)

    def cases(self, tokens: Int[AnyArray, " T"]) -> CaseLines:
        """Which lines of a text are correct, and which cases they are.

        Only the first `lines` lines count.
        """
        after = self.states(tokens)
        before = jax.tree.map(
            lambda rows, first: jnp.concatenate([first[None], rows[:-1]]), after, self.start()
        )
        ends = (after.line > before.line) & (before.line < self.lines)
        whole = (before.slot == Slot.RIGHT) & before.alive[:, 0]
        correct = ends & whole & (before.place == 2 * before.size + 3)
        powers = self.digits ** np.arange(self.longest + 1)
        used = jnp.arange(self.longest + 1) <= before.size[:, None]
        number = jnp.sum(jnp.where(used, before.digits * powers, 0), axis=1)
        number = number * (self.longest + 1) + before.size
        return CaseLines(ends, correct, jnp.where(correct, number, -1).astype(jnp.int32))
