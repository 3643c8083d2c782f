"""Everything that a run on real text depends on."""

from dataclasses import dataclass
from math import inf

from minicosm.models import TranslatorConfig
from minicosm.text.bleu import TOKENIZERS


@dataclass(frozen=True)
class TextRun:
    """Four files and the sizes of Li et al. (2024), Section 4.2.3; line i of a target translates line i
    of its source."""

    source: str
    target: str
    test_source: str
    test_target: str
    contents: tuple[str, ...]
    """Hashes of the files, so that a changed file is another trial."""
    tokenizer: str = ""
    """A SentencePiece .model or a .json of `tokenizers`; empty: SentencePiece, from the training text."""
    vocab: int = 32_000
    coverage: float = 1.0
    tokenize: str = "13a"
    """How sacreBLEU finds words."""
    longest: int = 128
    """Tokens of a side; longer pairs are not trained on, and longer sources of the test text are cut."""
    layers: int = 6
    heads: int = 8
    width: int = 512
    mlp_width: int = 2048
    dropout: float = 0.1
    positions: str = "relative"
    """As in the release; "learned" adds a vector for every position, which small models need."""
    steps: int = 500_000
    warmup: int = 10_000
    rate: float = 3e-3
    floor: float = 1e-5
    batch: int = 2048
    pieces: int = 16
    """Parts in which the gradient of a batch is computed."""
    stages: int = 2
    keep: float = 0.15
    hypotheses: int = 5
    passes: tuple[int, ...] = (4, 10)
    together: int = 64
    """Sentences that are translated at once."""
    distill: bool = True
    """Whether both models learn the translations of an autoregressive teacher in place of the text's."""
    outputs: str = ""
    """A folder for the translations of the test text, a line for every pair that is not skipped; empty:
    they are not kept."""
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("vocab", "longest", "layers", "heads", "width", "mlp_width", "steps", "batch",
                  "pieces", "stages", "hypotheses", "together")  # fmt: skip
        for name in counts:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.batch % self.pieces:
            raise ValueError(
                f"a batch of {self.batch} pairs cannot be divided into {self.pieces} equal pieces"
            )
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        if self.positions not in ("relative", "learned"):
            raise ValueError(f"positions is {self.positions!r}; it must be relative or learned")
        if not self.passes or min(self.passes) < 1:
            raise ValueError(f"passes is {self.passes}; it needs numbers of at least 1")
        if self.tokenize not in TOKENIZERS:
            raise ValueError(
                f"tokenize is {self.tokenize!r}; it must be one of {', '.join(TOKENIZERS)}"
            )
        if not 0 <= self.warmup < self.steps:
            raise ValueError(
                f"warmup is {self.warmup} and steps is {self.steps}; warmup must be less than steps"
            )
        if not 0 < self.rate < inf:
            raise ValueError(f"rate is {self.rate}; it must be positive")
        for name, least, most in (("keep", 0, 1), ("coverage", 0.98, 1)):
            if not least <= getattr(self, name) <= most:
                value = getattr(self, name)
                raise ValueError(f"{name} is {value}; it must be from {least} to {most}")
        self.shape(self.vocab, causal=False)  # checks the rest

    @property
    def widths(self) -> tuple[int, ...]:
        """Shapes to which pairs are padded: powers of two up to `longest`."""
        return (*(2**i for i in range(4, 12) if 2**i < self.longest), self.longest)

    def shape(self, vocab: int, *, causal: bool) -> TranslatorConfig:
        """The model: one that decodes in parallel, or its autoregressive counterpart."""
        return TranslatorConfig.paper(
            vocab=vocab, encoder_layers=self.layers, decoder_layers=self.layers, heads=self.heads,
            width=self.width, mlp_width=self.mlp_width, dropout=self.dropout,
            positions=self.positions,
            max_length=self.longest + 1, lengths=0 if causal else self.longest,
            positional_attention=not causal, causal=causal,
        )  # fmt: skip
