"""Models: what predicts. Exact worlds satisfy these protocols as they are."""

from .config import TransformerConfig
from .hugging_face import export_bert
from .protocols import CausalLM, MaskedLM
from .transformer import Trace, Transformer
from .weights import from_arrays, load, save, to_arrays

__all__ = [
    "CausalLM",
    "MaskedLM",
    "Trace",
    "Transformer",
    "TransformerConfig",
    "export_bert",
    "from_arrays",
    "load",
    "save",
    "to_arrays",
]
