"""A corpus with topics from a folder and from Parquet, made on the spot."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from minicosm.text import read_topic_corpus

TEXTS = {"a": "cat dog cat the", "b": "\ufefftea  cup\ntea of", "c": "dog cup the"}


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    (tmp_path / "topics.txt").write_text("cat dog\n\ntea cup\n")
    (tmp_path / "notes.md").write_text("not a document")
    return tmp_path


def test_a_folder_of_text(folder):
    found = read_topic_corpus(folder, others="leave")
    assert found.words == ("cat", "cup", "dog", "of", "tea", "the") and found.topics == ("0", "1")
    texts = [" ".join(found.words[i] for i in document) for document in found.documents]
    assert texts == ["cat dog cat the", "tea cup tea of", "dog cup the"]
    np.testing.assert_array_equal(found.members, [[1, 0], [0, 1], [1, 0], [0, 0], [0, 1], [0, 0]])
    assert found.windows(2).shape == (5, 2)  # 4 + 4 + 3 words
    with pytest.raises(ValueError, match="the longest document has 4 words"):
        found.windows(5)


def test_a_parquet_file_with_a_topic_for_every_token(tmp_path):
    table = pa.table({
        "tokens": [["cat", "dog", "the"], ["tea", "cat"], []],
        "topics": [["animals", "animals", None], ["drinks", "drinks"], []],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "corpus.parquet")
    found = read_topic_corpus(tmp_path / "corpus.parquet", others="leave")
    assert found.topics == ("animals", "drinks") and len(found.documents) == 2
    assert found.members[found.words.index("cat")].tolist() == [True, True]  # in both
    pq.write_table(
        pa.table({"tokens": [[5, 7], [5]], "topics": [[0, 1], [0]]}), tmp_path / "n.parquet"
    )
    assert read_topic_corpus(tmp_path / "n.parquet").words == ("5", "7")


def break_topics(folder, text):
    (folder / "topics.txt").write_text(text)
    return folder


def written(folder, **columns):
    pq.write_table(pa.table(columns), folder / "x.parquet")
    return folder / "x.parquet"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda f: f, "the word 'of' of .*b.txt is in no topic, and 1 others"),
        (lambda f: f / "nowhere", "which is not there"),
        (
            lambda f: break_topics(f, "cat dog\ntea cup mug"),
            "the word 'mug' of topic 1 .* is in no document",
        ),
        (lambda f: break_topics(f, "cat dog tea cup of the"), "has 1 topics; at least two"),
        (lambda f: (f / "topics.txt").unlink() or f, "has no topics.txt"),
        (lambda f: (f / "a.txt").write_bytes(b"\xff\xfe") and f, "a.txt is not UTF-8"),
        (lambda f: f / "a.txt", "is no Parquet file"),
        (lambda f: written(f, tokens=[["a"]]), "it needs 'topics'"),
        (lambda f: written(f, tokens=[["a", "b"]], topics=[[1]]), "2 tokens and 1 topics"),
        (lambda f: written(f, tokens=["a b"], topics=[[1]]), "no list of words"),
        (lambda f: written(f, tokens=[["a"]], topics=[[1.5]]), "no list of texts"),
    ],
)
def test_bad_input_meets_a_sentence(make, sentence, folder):
    with pytest.raises(ValueError, match=sentence):
        read_topic_corpus(make(folder))


def test_a_folder_without_text(tmp_path):
    with pytest.raises(ValueError, match=r"has no \.txt file"):
        read_topic_corpus(tmp_path)
    (tmp_path / "a.txt").write_text("  \n")
    (tmp_path / "topics.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match="has no document with a word"):
        read_topic_corpus(tmp_path)
