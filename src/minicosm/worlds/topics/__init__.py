"""Topic models: disjoint topics with exact answers at any length, general LDA, a stand-in for text."""

from .blocks import (
    BlockStatistics,
    PairAttention,
    Relation,
    block_statistics,
    cosines,
    pair_attention,
    topic_pairs,
)
from .lda import LDA
from .overlapping import OverlappingTopics, OverlapSample
from .recovery import Recovery, recover_topics, topic_agreement
from .world import Moments, TopicPosterior, TopicSample, TopicWorld

__all__ = [
    "LDA",
    "BlockStatistics",
    "Moments",
    "OverlapSample",
    "OverlappingTopics",
    "PairAttention",
    "Recovery",
    "Relation",
    "TopicPosterior",
    "TopicSample",
    "TopicWorld",
    "block_statistics",
    "cosines",
    "pair_attention",
    "recover_topics",
    "topic_agreement",
    "topic_pairs",
]
