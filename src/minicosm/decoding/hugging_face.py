"""A Hugging Face causal language model as a generator of many strings at once. Needs torch and transformers.

The model stays where it is, in torch; the compiled samplers call it for a whole batch of rows. Keys and
values of all rows are kept together, by row and place: going back forgets nothing until other tokens are
read there. A pass is made by those rows only that need a law which is not known, and once most rows do: a
pass of one row takes a good part of the time of one of many, so the others walk on meanwhile.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import check_count, check_size, check_whole_numbers
from minicosm.worlds.memories import check_place, check_step

from .host_calls import call_host
from .hugging_face_memory import HuggingFaceMemory

KEPT_BYTES = 2**30  # of laws of prefixes
ENOUGH = 0.7  # of the rows that run need a law: then the model is run


class HuggingFaceGenerator:
    """A `Generator` around a causal model of transformers, such as `AutoModelForCausalLM` loads.

    `law(memory, n)` is the model's `log_softmax` after the first n tokens, in float32. An empty string
    stands after the token `start` (the model's own, if its config has a `bos_token_id`); with None
    prompts must have at least one token, and strings are read as they are. `layer` l keeps the hidden
    states after l layers, as `output_hidden_states` numbers them (0: embeddings), for a `ProbeVerifier`.

    The right padding of a batch is hidden by causality, so any model works whose cache is a
    `DynamicCache` and that takes `attention_mask` and `position_ids`.
    """

    def __init__(self, model: Any, *, layer: int | None = None, start: int | None = None) -> None:
        try:
            import torch
        except ImportError:
            raise ImportError(
                "a Hugging Face model needs torch and transformers: pip install 'minicosm[hf]'"
            ) from None
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise TypeError(
                f"the model is a {type(model).__name__}; it must be a causal language model of "
                "transformers, such as AutoModelForCausalLM.from_pretrained(...) gives"
            )
        config: Any = model.config
        count = config.num_hidden_layers
        if layer is not None and check_count("layer", layer, least=0) > count:
            raise ValueError(f"layer is {layer}; this model has the layers 0..{count}")
        if start is not None and check_count("start", start, least=0) >= config.vocab_size:
            raise ValueError(f"start is {start}; it must be one of 0..{config.vocab_size - 1}")
        self._model: Any = model.eval()
        self._torch: Any = torch
        self._skips_logits = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.layer, self.start = layer, start
        self.vocab = int(config.vocab_size)
        places = getattr(config, "max_position_embeddings", None)
        # A window that slides is counted in places of the batch, which are not those of a row.
        if window := getattr(config, "sliding_window", None):
            places = window if places is None else min(places, window)
        self.context = None if places is None else int(places) - (start is not None)
        self.width = int(config.hidden_size) if layer is not None else 0
        self.passes = 0
        """How often the model was run on a batch."""
        self.error: Exception | None = None
        """What went wrong inside the model, for whoever sees that its law is none."""
        self._batches: dict[int, _Batch] = {}

    def begin(self, room: int) -> HuggingFaceMemory:
        size = (check_count("room", room, least=0) + 1) * (self.width + 1)
        check_size(f"a memory of {room} tokens", size)
        hidden = jnp.zeros((room + 1, self.width), jnp.float32)
        memory = HuggingFaceMemory(jnp.zeros(room, jnp.int32), hidden)
        if self.layer is None or self.start is None:
            return memory
        return memory._replace(hidden=hidden.at[0].set(self._state(memory.tokens, jnp.int32(0))))

    def begin_after(self, room: int, tokens: Int[Array, " P"]) -> HuggingFaceMemory:
        """The memory of a string of P tokens, read in one pass once a law is asked for."""
        memory = self.begin(room)
        tokens = jnp.asarray(check_whole_numbers("tokens", tokens, 0, self.vocab - 1, (None,)))
        if tokens.shape[0] > room:
            raise ValueError(f"tokens are {tokens.shape[0]}; the memory has room for {room}")
        whole = memory.tokens.at[: tokens.shape[0]].set(tokens)
        if self.layer is None:
            return memory._replace(tokens=whole)
        shape = jax.ShapeDtypeStruct((tokens.shape[0], self.width), jnp.float32)
        states = call_host(self._states_of, (shape,), tokens)[0]
        return HuggingFaceMemory(whole, memory.hidden.at[1 : tokens.shape[0] + 1].set(states))

    def read(
        self, memory: HuggingFaceMemory, n: Int[Array, ""], token: Int[Array, ""]
    ) -> HuggingFaceMemory:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self.begin, memory, n, token, self.vocab)
        tokens = jnp.where(jnp.arange(memory.tokens.shape[0]) == n, token, memory.tokens)
        if self.layer is None:
            return memory._replace(tokens=tokens)
        here = jnp.arange(memory.hidden.shape[0])[:, None] == n + 1
        state = self._state(tokens, n + 1)
        return HuggingFaceMemory(tokens, jnp.where(here, state, memory.hidden))

    def law(self, memory: HuggingFaceMemory, n: Int[Array, ""]) -> Float[Array, " V"]:
        """Log-probabilities of the token after the first n."""
        n = check_place(self.begin, memory, n)
        shape = jax.ShapeDtypeStruct((self.vocab,), jnp.float32)
        return call_host(self._laws, (shape,), memory.tokens, n)[0]

    def law_when(
        self,
        memory: HuggingFaceMemory,
        n: Int[Array, ""],
        asked: Bool[Array, ""],
        running: Bool[Array, ""],
    ) -> tuple[Float[Array, " V"], Bool[Array, ""]]:
        """The law if it is asked for and ready, and whether it is; else a uniform one.

        The model is run once most of the rows that are `running` need it; then all of these are ready.
        """
        n = check_place(self.begin, memory, n)
        law = jax.ShapeDtypeStruct((self.vocab,), jnp.float32)
        ready = jax.ShapeDtypeStruct((), jnp.bool_)
        given = (memory.tokens, n, asked, running)
        answers = call_host(self._laws_when, (law, ready), *given)
        return answers[0], answers[1]

    def _state(self, tokens: Int[Array, " room"], n: Int[Array, ""]) -> Float[Array, " E"]:
        shape = jax.ShapeDtypeStruct((self.width,), jnp.float32)
        return call_host(self._last_states, (shape,), tokens, n)[0]

    def states(self, string: Sequence[int]) -> Float[np.ndarray, "n E"]:
        """The hidden states of the kept layer after every token of a string."""
        if self.layer is None:
            raise ValueError("no layer is kept; give the generator a layer")
        known = np.asarray(check_whole_numbers("string", string, 0, self.vocab - 1, (None,)))
        batch = _Batch(self, 1, known.size)
        row, none = np.zeros(1, int), np.zeros(1, int)
        batch.read(row, known[None], np.array([known.size]), none)
        return batch.states[0]

    def forget(self) -> None:
        """Forget all strings that were read: the model may be another one now, after more training."""
        self._batches.clear()

    def keep_rows(self, rows: Int[np.ndarray, " fewer"], of: int) -> None:
        """From now on only these rows of a batch of size `of` are asked for."""
        if batch := self._batches.pop(of, None):
            self._batches[len(rows)] = batch.some(rows)

    # -- on the host: arrays have any number of leading axes, those of the batch ------------------

    def _laws(
        self,
        laws: Float[np.ndarray, "*batch V"],
        tokens: Int[np.ndarray, "*batch room"],
        n: Int[np.ndarray, "*batch"],
    ) -> None:
        every = np.ones(n.shape, bool)
        self._laws_when(laws, every.copy(), tokens, n, every, every, enough=0)

    def _laws_when(
        self,
        laws: Float[np.ndarray, "*batch V"],
        ready: Bool[np.ndarray, "*batch"],
        tokens: Int[np.ndarray, "*batch room"],
        n: Int[np.ndarray, "*batch"],
        asked: Bool[np.ndarray, "*batch"],
        running: Bool[np.ndarray, "*batch"],
        enough: float = ENOUGH,
    ) -> None:
        ready[...] = True
        with self._noting(laws):
            rows = np.flatnonzero(asked)
            batch, strings, sizes = self._strings(tokens, n, rows)
            known = batch.known(rows, strings, sizes)
            there = known == sizes
            waiting = len(rows) - np.count_nonzero(there)
            needed = enough * np.count_nonzero(running)
            if waiting and (self.layer is not None or waiting >= needed):
                batch.read(rows, strings, sizes, known)
                there[:] = True
            batch.write_laws(laws.reshape(-1, self.vocab), rows[there], sizes[there])
            ready.reshape(-1)[rows] = there  # who asks for nothing waits for nothing

    def _last_states(
        self,
        states: Float[np.ndarray, "*batch E"],
        tokens: Int[np.ndarray, "*batch room"],
        n: Int[np.ndarray, "*batch"],
    ) -> None:
        with self._noting(states):
            batch, sizes = self._read_all(tokens, n)
            states[...] = batch.states[np.arange(n.size), sizes - 1].reshape(states.shape)

    def _states_of(
        self, states: Float[np.ndarray, "*batch P E"], tokens: Int[np.ndarray, "*batch P"]
    ) -> None:
        """The states after every prefix of whole strings."""
        with self._noting(states):
            batch, sizes = self._read_all(tokens, np.full(tokens.shape[:-1], tokens.shape[-1]))
            size = int(sizes[0])
            states[...] = batch.states[:, size - tokens.shape[-1] : size].reshape(states.shape)

    def _read_all(
        self, tokens: np.ndarray, n: np.ndarray
    ) -> tuple["_Batch", Int[np.ndarray, " rows"]]:
        rows = np.arange(n.size)
        batch, strings, sizes = self._strings(tokens, n, rows)
        batch.read(rows, strings, sizes, batch.known(rows, strings, sizes))
        return batch, sizes

    def _strings(
        self, tokens: np.ndarray, n: np.ndarray, rows: Int[np.ndarray, " k"]
    ) -> tuple["_Batch", Int[np.ndarray, "k places"], Int[np.ndarray, " k"]]:
        """The batch, and the strings of some of its rows, after the start token if there is one."""
        strings, sizes = tokens.reshape(n.size, tokens.shape[-1])[rows], n.reshape(-1)[rows]
        if self.start is not None:
            strings, sizes = np.insert(strings, 0, self.start, axis=1), sizes + 1
        batch = self._batches.get(n.size)
        if batch is None or batch.tokens.shape[1] < strings.shape[1]:
            batch = self._batches[n.size] = _Batch(self, n.size, strings.shape[1])
        return batch, strings, sizes

    @contextmanager
    def _noting(self, answers: np.ndarray) -> Iterator[None]:
        """What goes wrong inside a compiled program: `sample` sees NaN, and says what it was."""
        try:
            yield
        except Exception as error:
            self.error = error
            answers[:] = np.nan


class _Batch:
    """What has been read of every row of a batch."""

    def __init__(self, generator: HuggingFaceGenerator, count: int, places: int) -> None:
        self._generator = generator
        self.tokens = np.zeros((count, places), np.int32)
        self.sizes = np.zeros(count, np.int64)
        """How many tokens of a row have been read."""
        kept = min(places + 1, max(1, KEPT_BYTES // (4 * generator.vocab * count)))
        self._laws = np.empty((count * kept + 1, generator.vocab), np.float32)
        """The law of row i after its first n tokens is at i * kept + n modulo `kept`; a uniform law is the
        last."""
        self._laws[-1] = -np.log(generator.vocab)
        self._after = np.zeros((count, kept), np.int64)
        """After how many tokens these laws are; 0 where there is none."""
        self.states = np.zeros((count, places, generator.width), np.float32)
        from .shared_cache import SharedCache

        self._device = next(generator._model.parameters()).device
        self._cache: Any = SharedCache(count, places)

    def some(self, rows: Int[np.ndarray, " fewer"]) -> "_Batch":
        """What has been read of some of the rows."""
        fewer = _Batch(self._generator, len(rows), self.tokens.shape[1])
        for name in ("tokens", "sizes", "_after", "states"):
            setattr(fewer, name, getattr(self, name)[rows])
        by_row = np.arange(self._after.size).reshape(self._after.shape)
        fewer._laws = self._laws[np.append(by_row[rows], len(self._laws) - 1)]
        fewer._cache = self._cache.some(rows)
        return fewer

    def _at(
        self, rows: Int[np.ndarray, " k"], sizes: Int[np.ndarray, " k"]
    ) -> Int[np.ndarray, " k"]:
        """Where the laws of these rows after so many tokens are kept."""
        kept = self._after.shape[1]
        return rows * kept + sizes % kept

    def write_laws(
        self,
        laws: Float[np.ndarray, "count V"],
        rows: Int[np.ndarray, " k"],
        sizes: Int[np.ndarray, " k"],
    ) -> None:
        """Write the laws of some rows after so many tokens, and a uniform one for each of the others."""
        at = np.full(len(laws), len(self._laws) - 1)
        at[rows] = self._at(rows, sizes)
        np.take(self._laws, at, axis=0, out=laws, mode="clip")  # without "clip" it makes a copy

    def known(
        self,
        rows: Int[np.ndarray, " k"],
        strings: Int[np.ndarray, "k _"],
        sizes: Int[np.ndarray, " k"],
    ) -> Int[np.ndarray, " k"]:
        """How many tokens of the strings need not be read again: all, if the law after them is known."""
        if not sizes.all():
            raise ValueError(
                "a string is empty; give prompts of at least one token, or a start token"
            )
        wide = strings.shape[1]
        other = self.tokens[rows][:, :wide] != strings
        same = np.where(other.any(1), other.argmax(1), wide)
        same = np.minimum(same, np.minimum(self.sizes[rows], sizes))
        # Of a law that was forgotten the last token is read again.
        there = self._after.reshape(-1)[self._at(rows, sizes)] == sizes
        return np.where(there, same, np.minimum(same, sizes - 1))

    def read(
        self,
        rows: Int[np.ndarray, " k"],
        strings: Int[np.ndarray, "k _"],
        sizes: Int[np.ndarray, " k"],
        known: Int[np.ndarray, " k"],
    ) -> None:
        """Read what is not known of the strings of these rows; the law after each is known then."""
        # One token more is the rule; prompts of a few new rows would make all others wide.
        new = sizes - known
        if (one := new == 1).any():
            self._pass(rows[one], strings[one], known[one], sizes[one])
        if (many := new > 1).any():
            first = np.full(many.sum(), known[many].min())
            self._pass(rows[many], strings[many], first, sizes[many])

    def _pass(
        self, rows: np.ndarray, strings: np.ndarray, before: np.ndarray, sizes: np.ndarray
    ) -> None:
        """Read the tokens from `before` to `sizes` of each string: one, or of all rows from one place on."""
        generator, torch = self._generator, self._generator._torch
        wide, longest = int((sizes - before).max()), int(sizes.max())
        each = np.arange(len(rows))
        at = before[:, None] + np.arange(wide)
        mask = np.arange(longest) < sizes[:, None]  # what stands after a string is hidden

        def there(array: np.ndarray) -> Any:
            return torch.from_numpy(array).to(self._device)

        last, only = sizes - before - 1, {}
        if wide > 1 and generator._skips_logits:  # those of most places are of no use
            places, last = np.unique(last, return_inverse=True)
            only["logits_to_keep"] = there(places)
        with torch.inference_mode():
            self._cache.turn_to(there(rows), there(at))
            answer = generator._model(
                input_ids=there(strings[each[:, None], at].astype(np.int64)),
                attention_mask=there(mask.astype(np.int64)),
                position_ids=there(at),
                past_key_values=self._cache,
                use_cache=True,
                output_hidden_states=generator.layer is not None,
                **only,
            )
            logits = answer.logits[there(each), there(last)].float()
            laws = torch.log_softmax(logits, -1).cpu().numpy()
            if generator.layer is not None:
                hidden = answer.hidden_states[generator.layer].float().cpu().numpy()
                self.states[rows[:, None], at] = hidden
        generator.passes += 1
        self.tokens[rows, : strings.shape[1]], self.sizes[rows] = strings, sizes
        after = self._after[rows]
        self._after[rows] = np.where(after > before[:, None], 0, after)
        kept = self._at(rows, sizes)
        self._after.reshape(-1)[kept], self._laws[kept] = sizes, laws
