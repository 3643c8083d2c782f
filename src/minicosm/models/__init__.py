"""Models: what predicts. Exact worlds satisfy these protocols as they are."""

from .bag_attention import BagAttention
from .cached import CachedMemory, CachedTransformer
from .config import TransformerConfig
from .density_ratio import DensityRatio
from .hugging_face import export_bert
from .layer_options import with_layer_options
from .lstm import LSTM, LSTMConfig, LSTMGenerator, LSTMMemory
from .positions import Placement, recency_slopes
from .protocols import CausalLM, Generator, MaskedLM, Verifier
from .transformer import Transformer, TransformerTrace
from .translator import Memory, Translator, TranslatorConfig
from .weights import from_arrays, load, save, to_arrays

__all__ = [
    "LSTM",
    "BagAttention",
    "CachedMemory",
    "CachedTransformer",
    "CausalLM",
    "DensityRatio",
    "Generator",
    "LSTMConfig",
    "LSTMGenerator",
    "LSTMMemory",
    "MaskedLM",
    "Memory",
    "Placement",
    "Transformer",
    "TransformerConfig",
    "TransformerTrace",
    "Translator",
    "TranslatorConfig",
    "Verifier",
    "export_bert",
    "from_arrays",
    "load",
    "recency_slopes",
    "save",
    "to_arrays",
    "with_layer_options",
]
