"""Topic models: disjoint topics with exact answers at any length, general LDA, a stand-in for text."""

from .lda import LDA
from .overlapping import OverlappingTopics, OverlapSample
from .recovery import Recovery, recover_topics, topic_agreement
from .world import Moments, TopicPosterior, TopicSample, TopicWorld

__all__ = [
    "LDA",
    "Moments",
    "OverlapSample",
    "OverlappingTopics",
    "Recovery",
    "TopicPosterior",
    "TopicSample",
    "TopicWorld",
    "recover_topics",
    "topic_agreement",
]
