"""The script for pretrained models: its numbers are those of embeddings and attention computed here."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from minicosm.models import TransformerConfig, export_bert, from_arrays
from minicosm.models.weights import shapes

SCRIPT = Path(__file__).parents[2] / "examples" / "pretrained_topics.py"
WORDS = ("cat", "dog", "sea", "ship", "the")
TOPICS = (("cat", "dog", "newt"), ("sea", "ship"))
DOCUMENTS = (
    ["newt", "newt"],
    ["cat", "the", "dog", "cat"],
    ["sea", "the", "ship", "cat"],
    ["dog", "sea"],
)


@pytest.fixture
def folders(tmp_path):
    """A random BERT that knows five words, and a corpus that has a sixth, in a document of its own."""
    config = TransformerConfig.bert(5, layers=2, heads=2, width=8, mlp_width=12, max_length=12)
    draw = np.random.default_rng(0)
    arrays = {name: draw.normal(size=shape) * 0.5 for name, shape in shapes(config).items()}
    model = from_arrays(config, arrays)
    export_bert(model, tmp_path / "model", names=list(WORDS))
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "topics.txt").write_text("\n".join(map(" ".join, TOPICS)))
    for i, document in enumerate(DOCUMENTS):
        (corpus / f"{i}.txt").write_text(" ".join(document))
    return model, tmp_path / "model", corpus


def referee(model):
    """Same topic, different topics: mean inner products of words, mean attention of pairs of positions."""
    topic = {word: k for k, words in enumerate(TOPICS) for word in words}
    rows = np.asarray(model.token_embedding, float)
    known = [w for w in WORDS if w in topic]
    inner: dict[bool, list[float]] = {True: [], False: []}
    for one in known:
        for other in known:
            if one != other:
                product = rows[WORDS.index(one)] @ rows[WORDS.index(other)]
                inner[topic[one] == topic[other]].append(product)
    read: dict[bool, list[float]] = {True: [], False: []}
    for document in DOCUMENTS:
        if "newt" in document:  # which the model does not know, and which is in no pair
            continue
        tokens = np.array([WORDS.index(word) for word in document])
        maps = np.asarray(model.trace(tokens).attention).mean(axis=(0, 1)) * len(document)
        for i, one in enumerate(document):
            for j, other in enumerate(document):
                if one != other and one in topic and other in topic:
                    read[topic[one] == topic[other]].append(maps[i, j])
    return [np.mean(found[same]) for found in (inner, read) for same in (True, False)]


def test_embeddings_and_attention_of_a_pretrained_model(folders, capsys, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, folder, corpus = folders
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(folder), str(corpus)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    out = capsys.readouterr().out
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", out)]
    np.testing.assert_allclose(numbers, referee(model), rtol=1e-4)
    assert numbers[0] != numbers[1] and numbers[2] != numbers[3]
