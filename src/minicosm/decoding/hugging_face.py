"""A Hugging Face causal language model as a generator of many strings at once. Needs torch and transformers.

The model stays where it is, in torch; the compiled samplers call it for a whole batch of rows. Keys and
values of all rows are kept together, by row and place: going back forgets nothing until other tokens are
read there. A pass is made by those rows only that ask for a law which is not known.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import check_count, check_size, check_whole_numbers
from minicosm.worlds.memories import check_place, check_step

KEPT_BYTES = 2**30  # of laws of prefixes


class HuggingFaceMemory(NamedTuple):
    """A string, and the hidden state of a layer after each of its prefixes, if one is kept."""

    tokens: Int[Array, " room"]
    hidden: Float[Array, "rows E"]


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
        self.layer, self.start = layer, start
        self.vocab = int(config.vocab_size)
        places = getattr(config, "max_position_embeddings", None)
        self.context = None if places is None else int(places) - (start is not None)
        self.width = int(config.hidden_size) if layer is not None else 0
        self.passes = 0
        """How often the model was run on a batch."""
        self.error: Exception | None = None
        """What went wrong inside the model, for whoever sees that its law is none."""
        self._read: dict[int, _Batch] = {}

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
        states = jax.pure_callback(self._states_of, shape, tokens, vmap_method="broadcast_all")
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
        return self.law_when(memory, n, jnp.bool_(True))

    def law_when(
        self, memory: HuggingFaceMemory, n: Int[Array, ""], asked: Bool[Array, ""]
    ) -> Float[Array, " V"]:
        """The law if it is asked for; else a uniform one, for which the model is not run."""
        n = check_place(self.begin, memory, n)
        shape = jax.ShapeDtypeStruct((self.vocab,), jnp.float32)
        given = (memory.tokens, n, asked)
        return jax.pure_callback(self._laws, shape, *given, vmap_method="broadcast_all")

    def _state(self, tokens: Int[Array, " room"], n: Int[Array, ""]) -> Float[Array, " E"]:
        shape = jax.ShapeDtypeStruct((self.width,), jnp.float32)
        return jax.pure_callback(self._last_states, shape, tokens, n, vmap_method="broadcast_all")

    def states(self, string: Sequence[int]) -> Float[np.ndarray, "n E"]:
        """The hidden states of the kept layer after every token of a string."""
        if self.layer is None:
            raise ValueError("no layer is kept; give the generator a layer")
        known = np.asarray(check_whole_numbers("string", string, 0, self.vocab - 1, (None,)))
        batch = _Batch(self, 1)
        batch.read({0: known.tolist()})
        return np.array(batch.states[0])

    # -- on the host: arrays have any number of leading axes, those of the batch ------------------

    def _laws(self, tokens: Any, n: Any, asked: Any = True) -> Float[np.ndarray, "*batch V"]:
        return self._answers(tokens, n, asked, "laws")

    def _last_states(self, tokens: Any, n: Any) -> Float[np.ndarray, "*batch E"]:
        return self._answers(tokens, n, True, "last state")

    def _states_of(self, tokens: Any) -> Float[np.ndarray, "*batch P E"]:
        """The states after every prefix of whole strings."""
        sizes = np.full(np.shape(tokens)[:-1], np.shape(tokens)[-1])
        return self._answers(tokens, sizes, True, "states")

    def _answers(self, tokens: Any, n: Any, asked: Any, what: str) -> np.ndarray:
        tokens, n = np.asarray(tokens), np.asarray(n)
        rows, sizes = tokens.reshape(-1, tokens.shape[-1]), n.reshape(-1)
        which = np.flatnonzero(np.broadcast_to(asked, n.shape))
        first = [] if self.start is None else [self.start]
        shape = {
            "laws": (self.vocab,), "last state": (self.width,), "states": (rows.shape[1], self.width)
        }[what]  # fmt: skip
        answers = np.full((len(rows), *shape), -np.log(self.vocab), np.float32)
        try:
            strings = {int(i): first + rows[i, : sizes[i]].tolist() for i in which}
            if len(rows) not in self._read:
                self._read[len(rows)] = _Batch(self, len(rows))
            batch = self._read[len(rows)]
            batch.read(strings)
            for i, string in strings.items():
                if what == "laws":
                    answers[i] = batch.laws[i][len(string)]
                elif what == "states":
                    answers[i] = batch.states[i][len(first) : len(string)]
                else:
                    answers[i] = batch.states[i][len(string) - 1]
        except Exception as error:  # in a compiled program: `sample` sees NaN and says what it was
            self.error = error
            answers[:] = np.nan
        return answers.reshape(*n.shape, *shape)


class _Batch:
    """What has been read of every row of a batch of one size."""

    def __init__(self, generator: HuggingFaceGenerator, count: int) -> None:
        self._generator = generator
        self.strings: list[list[int]] = [[] for _ in range(count)]
        self.laws: list[dict[int, np.ndarray]] = [{} for _ in range(count)]
        self.states: list[list[np.ndarray]] = [[] for _ in range(count)]
        self._cache: Any = None
        self._kept: list[tuple[Any, Any]] = []
        """Keys and values of each layer, (rows, heads, places, width), at the places of their tokens."""

    def read(self, strings: dict[int, list[int]]) -> None:
        """Read what is new in the strings of these rows; the law after each is known then."""
        fresh: dict[int, list[int]] = {}
        for i, string in strings.items():
            if not string:
                raise ValueError(
                    "a string is empty; give prompts of at least one token, or a start token"
                )
            old = self.strings[i]
            same = len(string) if old[: len(string)] == string else _agreement(old, string)
            if same == len(string) and same in self.laws[i]:
                continue
            keep = min(same, len(string) - 1)  # a law that was forgotten: read the last token again
            del old[keep:], self.states[i][keep:]
            self.laws[i] = {k: law for k, law in self.laws[i].items() if k <= keep}
            fresh[i] = string[keep:]
        if self._generator.vocab * 4 * sum(map(len, self.laws)) > KEPT_BYTES:
            self.laws = [
                {len(strings[i]): laws[len(strings[i])]} if i in strings and i not in fresh else {}
                for i, laws in enumerate(self.laws)
            ]
        # One token more is the rule; prompts of a few new rows would make all others wide.
        for wide in (False, True):
            if rows := [i for i, new in fresh.items() if (len(new) > 1) == wide]:
                self._pass(rows, [fresh[i] for i in rows])

    def _pass(self, rows: list[int], fresh: list[list[int]]) -> None:
        from transformers import DynamicCache

        generator = self._generator
        torch, model = generator._torch, generator._model
        device = next(model.parameters()).device
        before = np.array([len(self.strings[i]) for i in rows])
        new = np.array([len(tokens) for tokens in fresh])
        past, wide = int(before.max()), int(new.max())
        if self._cache is None:
            self._cache = DynamicCache()
        every = len(rows) == len(self.strings)  # rows are in order: nothing has to be copied
        index = slice(None) if every else torch.tensor(rows, device=device)
        for layer, kept in zip(self._cache.layers, self._kept, strict=True):
            layer.keys, layer.values = (part[:, :, :past][index] for part in kept)
        places = np.arange(past + wide)
        mask = (places < before[:, None]) | (places >= past)  # causality hides what stands after
        ids = np.zeros((len(rows), wide), np.int64)
        for row, tokens in zip(ids, fresh, strict=True):
            row[: len(tokens)] = tokens
        positions = before[:, None] + np.minimum(np.arange(wide), new[:, None] - 1)
        with torch.no_grad():
            answer = model(
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(mask.astype(np.int64)).to(device),
                position_ids=torch.from_numpy(positions).to(device),
                past_key_values=self._cache,
                use_cache=True,
                output_hidden_states=generator.layer is not None,
            )
            self._cache = answer.past_key_values
            at = torch.from_numpy(new - 1).to(device)
            logits = answer.logits[torch.arange(len(rows), device=device), at].float()
            laws = torch.log_softmax(logits, -1).cpu().numpy()
            hidden = None
            if generator.layer is not None:
                hidden = answer.hidden_states[generator.layer].float().cpu().numpy()
            self._keep(rows, before, new, past)
        generator.passes += 1
        for k, (i, tokens) in enumerate(zip(rows, fresh, strict=True)):
            self.strings[i] += tokens
            self.laws[i][len(self.strings[i])] = laws[k]
            if hidden is not None:
                self.states[i] += list(hidden[k, : len(tokens)])

    def _keep(self, rows: list[int], before: np.ndarray, new: np.ndarray, past: int) -> None:
        """Put keys and values of new tokens at their places."""
        row, token = np.nonzero(np.arange(new.max()) < new[:, None])
        where = (np.array(rows)[row], before[row] + token, row, past + token)
        device = self._cache.layers[0].keys.device
        to, place, of, spot = (self._generator._torch.from_numpy(x).to(device) for x in where)
        longest = int((before + new).max())
        for number, layer in enumerate(self._cache.layers):
            found = (layer.keys, layer.values)
            if number == len(self._kept):
                self._kept.append((found[0][:1, :, :0], found[1][:1, :, :0]))
            room = self._kept[number][0].shape[2]
            if longest > room:
                larger = [part.new_zeros(len(self.strings), part.shape[1], 2 * longest, part.shape[3])
                          for part in found]  # fmt: skip
                for part, old in zip(larger, self._kept[number], strict=True):
                    part[:, :, :room] = old
                self._kept[number] = (larger[0], larger[1])
            for part, fresh in zip(self._kept[number], found, strict=True):
                part[to, :, place] = fresh[of, :, spot]


def _agreement(a: list[int], b: list[int]) -> int:
    """How many tokens two strings have in common at their beginnings."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((k for k, (x, y) in pairs if x != y), min(len(a), len(b)))
