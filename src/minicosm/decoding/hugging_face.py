"""A Hugging Face causal language model as a generator of many strings at once. Needs torch and transformers.

The model stays where it is, in torch; the compiled samplers call it for a whole batch of rows. All rows
share one cache of keys and values. Each reading appends entries for every row, and a mask says which of
them belong to a row's string: going back is masking, and what was read is not read again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

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
        n = check_place(self.begin, memory, n)
        shape = jax.ShapeDtypeStruct((self.vocab,), jnp.float32)
        return jax.pure_callback(self._laws, shape, memory.tokens, n, vmap_method="broadcast_all")

    def _state(self, tokens: Int[Array, " room"], n: Int[Array, ""]) -> Float[Array, " E"]:
        shape = jax.ShapeDtypeStruct((self.width,), jnp.float32)
        return jax.pure_callback(self._last_states, shape, tokens, n, vmap_method="broadcast_all")

    def states(self, string: Sequence[int]) -> Float[np.ndarray, "n E"]:
        """The hidden states of the kept layer after every token of a string."""
        if self.layer is None:
            raise ValueError("no layer is kept; give the generator a layer")
        known = np.asarray(check_whole_numbers("string", string, 0, self.vocab - 1, (None,)))
        batch = _Batch(self, 1)
        batch.read([known.tolist()])
        return np.array(batch.states[0])

    # -- on the host: arrays have any number of leading axes, those of the batch ------------------

    def _laws(self, tokens: Any, n: Any) -> Float[np.ndarray, "*batch V"]:
        return self._answers(tokens, n, "laws", self.vocab)

    def _last_states(self, tokens: Any, n: Any) -> Float[np.ndarray, "*batch E"]:
        return self._answers(tokens, n, "states", self.width)

    def _states_of(self, tokens: Any) -> Float[np.ndarray, "*batch P E"]:
        """The states after every prefix of whole strings."""
        tokens = np.asarray(tokens)
        sizes = np.full(tokens.shape[:-1], tokens.shape[-1])
        return self._answers(tokens, sizes, "all", 0).reshape(*tokens.shape, self.width)

    def _answers(self, tokens: Any, n: Any, what: str, width: int) -> np.ndarray:
        tokens, n = np.asarray(tokens), np.asarray(n)
        shape = n.shape
        rows, sizes = tokens.reshape(-1, tokens.shape[-1]), n.reshape(-1)
        first = [] if self.start is None else [self.start]
        try:
            strings = [first + row[:k].tolist() for row, k in zip(rows, sizes, strict=True)]
            batch = self._read.setdefault(len(strings), _Batch(self, len(strings)))
            batch.read(strings)
            if what == "all":
                pairs = zip(batch.states, strings, strict=True)
                whole = [states[len(first) : len(string)] for states, string in pairs]
                return np.array(whole, np.float32).reshape(*shape, -1)
            if what == "states":
                answers = [
                    states[len(s) - 1] for states, s in zip(batch.states, strings, strict=True)
                ]
            else:
                answers = [laws[len(s)] for laws, s in zip(batch.laws, strings, strict=True)]
            return np.array(answers, np.float32).reshape(*shape, width)
        except (
            Exception
        ) as error:  # inside a compiled program: `sample` sees NaN and says what it was
            self.error = error
            return np.full((*shape, width or rows.shape[-1] * self.width), np.nan, np.float32)


class _Batch:
    """What has been read of every row of a batch of one size."""

    def __init__(self, generator: HuggingFaceGenerator, count: int) -> None:
        self._generator = generator
        self.strings: list[list[int]] = [[] for _ in range(count)]
        self.places: list[list[int]] = [[] for _ in range(count)]
        """Where in the cache the keys and values of every token of a row are."""
        self.laws: list[dict[int, np.ndarray]] = [{} for _ in range(count)]
        self.states: list[list[np.ndarray]] = [[] for _ in range(count)]
        self._cache: Any = None
        self._size = 0

    def read(self, strings: list[list[int]]) -> None:
        """Read what is new in the strings; the law after each is known then."""
        fresh: list[list[int]] = []
        for i, string in enumerate(strings):
            if not string:
                raise ValueError(
                    "a string is empty; give prompts of at least one token, or a start token"
                )
            old = self.strings[i]
            same = next(
                (k for k, (a, b) in enumerate(zip(old, string, strict=False)) if a != b),
                min(len(old), len(string)),
            )
            if same == len(string) and len(string) in self.laws[i]:
                fresh.append([])
                continue
            keep = min(same, len(string) - 1)  # a law that was forgotten: read the last token again
            del old[keep:], self.places[i][keep:], self.states[i][keep:]
            self.laws[i] = {k: law for k, law in self.laws[i].items() if k <= keep}
            fresh.append(string[keep:])
        if any(fresh):
            self._pass(fresh)

    def _pass(self, fresh: list[list[int]]) -> None:
        from transformers import DynamicCache

        generator = self._generator
        torch, model = generator._torch, generator._model
        device = next(model.parameters()).device
        count, wide = len(fresh), max(map(len, fresh))
        longest = max(map(len, self.places))
        if self._cache is None:
            self._cache = DynamicCache(config=model.config)
        elif self._size > longest + longest // 4 + 16:
            self._compact(longest, device)
        if generator.vocab * 4 * sum(map(len, self.laws)) > KEPT_BYTES:
            self.laws = [
                {len(s): laws[len(s)]} if len(s) in laws and not new else {}
                for laws, s, new in zip(self.laws, self.strings, fresh, strict=True)
            ]
        mask = np.zeros((count, self._size + wide), np.int64)
        mask[:, self._size :] = 1  # causality hides what stands after a row's last token
        ids = np.zeros((count, wide), np.int64)
        positions = np.zeros((count, wide), np.int64)
        for i, new in enumerate(fresh):
            mask[i, self.places[i]] = 1
            ids[i, : len(new)] = new
            positions[i] = len(self.places[i]) + np.minimum(np.arange(wide), max(len(new), 1) - 1)
        with torch.no_grad():
            answer = model(
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(mask).to(device),
                position_ids=torch.from_numpy(positions).to(device),
                past_key_values=self._cache,
                use_cache=True,
                output_hidden_states=generator.layer is not None,
            )
            self._cache = answer.past_key_values
            at = torch.tensor([max(len(new), 1) - 1 for new in fresh], device=device)
            logits = answer.logits[torch.arange(count, device=device), at].float()
            laws = torch.log_softmax(logits, -1).cpu().numpy()
            hidden = None
            if generator.layer is not None:
                hidden = answer.hidden_states[generator.layer].float().cpu().numpy()
        generator.passes += 1
        for i, new in enumerate(fresh):
            if new:
                self.strings[i] += new
                self.places[i] += range(self._size, self._size + len(new))
                self.laws[i][len(self.strings[i])] = laws[i]
                if hidden is not None:
                    self.states[i] += list(hidden[i, : len(new)])
        self._size += wide

    def _compact(self, longest: int, device: Any) -> None:
        """Forget the entries of the cache that belong to no string."""
        index = np.zeros((len(self.places), longest), np.int64)
        for i, places in enumerate(self.places):
            index[i, : len(places)] = places
            self.places[i] = list(range(len(places)))
        chosen = self._generator._torch.from_numpy(index).to(device)[:, None, :, None]
        for layer in self._cache.layers:
            for name in ("keys", "values"):
                whole = getattr(layer, name)
                every = chosen.expand(-1, whole.shape[1], -1, whole.shape[3])
                setattr(layer, name, whole.gather(2, every))
        self._size = longest
