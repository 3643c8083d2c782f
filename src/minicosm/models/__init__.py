"""Models: what predicts. Exact worlds satisfy these protocols as they are."""

from .cached import CachedTransformer
from .config import TransformerConfig
from .hugging_face import export_bert
from .protocols import CausalLM, Generator, MaskedLM, Verifier
from .transformer import Trace, Transformer
from .translator import Memory, Translator, TranslatorConfig
from .weights import from_arrays, load, save, to_arrays

__all__ = [
    "CachedTransformer",
    "CausalLM",
    "Generator",
    "MaskedLM",
    "Memory",
    "Trace",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "TranslatorConfig",
    "Verifier",
    "export_bert",
    "from_arrays",
    "load",
    "save",
    "to_arrays",
]
