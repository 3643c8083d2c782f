"""Files of parallel text: what is kept, what is skipped, how it becomes arrays; and BLEU."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.text.bleu_score import bleu
from minicosm.text.parallel_text import ParallelText
from minicosm.text.subwords import load_subwords, train_sentencepiece
from minicosm.text.token_pairs import Ragged, TokenPairs, buckets, encode

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


def write(folder: Path, source: bytes | str, target: bytes | str, **fields) -> ParallelText:
    for name, text in (("source", source), ("target", target)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return ParallelText(folder / "source", folder / "target", **fields)


class Letters:
    """One token per letter: a tokenizer that needs no package."""

    vocab = 26

    def encode(self, sentences):
        return [[ord(c) - 97 for c in s if "a" <= c <= "z"] for s in sentences]

    def decode(self, tokens):
        return ["".join(chr(97 + t) for t in row) for row in tokens]


def test_every_line_has_its_fate(tmp_path):
    source = b"\xef\xbb\xbfeins\r\n\nzwei\nd\xffei\nvier\n" + b"x" * 41 + b"\n sechs\xe2\x80\xa8 \n"
    text = write(
        tmp_path, source, "one\ntwo\n \nthree\n" + "y" * 40 + "\nfive\nsix", longest_line=40
    )
    assert [line[0] for line in text.lines()] == [
        "kept", "empty", "empty", "not UTF-8", "kept", "too long", "kept"
    ]  # fmt: skip
    assert list(text.pairs()) == [("eins", "one"), ("vier", "y" * 40), ("sechs", "six")]
    survey = text.survey()
    assert survey.fates == {"kept": 3, "empty": 2, "not UTF-8": 1, "too long": 1}
    assert (survey.lines, survey.source_words, survey.target_words) == (7, 3, 3)
    assert "7 pairs of lines, 3 kept (2 empty, 1 not UTF-8, 1 too long)" in str(survey)


def test_text_of_two_bytes_a_letter_is_not_taken_for_utf_8(tmp_path):
    text = write(tmp_path, "ein\nzwei\n".encode("utf-16-le"), "one\ntwo\nthree\n")
    assert [line[0] for line in text.lines()] == ["not UTF-8"] * 3


def test_a_line_of_megabytes_is_passed_over(tmp_path):
    long = b"z" * 3_000_000
    text = write(tmp_path, long + b"\na\n" + long, b"b\nc\nd\n")
    assert list(text.pairs()) == [("a", "c")] and text.survey().fates["too long"] == 2


@given(st.lists(st.text("ab \r\u2028é", max_size=5)), st.lists(st.text("ab ", max_size=5)))
def test_lines_are_counted_as_they_stand(tmp_path_factory, first, second):
    text = write(tmp_path_factory.mktemp("text"), "\n".join(first), "\n".join(second))
    sizes = [
        len("\n".join(side).split("\n")) - (not side or side[-1] == "") for side in (first, second)
    ]
    if sizes[0] == sizes[1]:
        assert sum(1 for _ in text.lines()) == sizes[0]
    else:
        with pytest.raises(ValueError, match=rf"{sizes[0]} lines and .* has {sizes[1]};"):
            list(text.lines())


def test_bad_files_are_one_sentence(tmp_path):
    write(tmp_path, "a\nb\n", "c\n")
    with pytest.raises(ValueError, match=r"has 2 lines and .*target has 1; line i"):
        ParallelText(tmp_path / "source", tmp_path / "target").survey()
    with pytest.raises(ValueError, match=r"the source text .* is not there"):
        ParallelText(tmp_path / "missing", tmp_path / "target")
    with pytest.raises(ValueError, match=r"the target text .* is a folder"):
        ParallelText(tmp_path / "source", tmp_path)
    with pytest.raises(ValueError, match="hold no text: 1 pairs of lines, 0 kept"):
        write(tmp_path, "\n", "a\n").survey()
    with pytest.raises(ValueError, match="longest_line is 0"):
        write(tmp_path, "a\n", "b\n", longest_line=0)


def test_encoding_keeps_order_and_counts_what_it_leaves(tmp_path):
    text = write(tmp_path, "abc\nabcdef\n123\nxy\n", "c\nba\nq\nabcde\n")
    pairs = encode(text, Letters(), 4)
    assert len(pairs) == 1 and (pairs.longer, pairs.empty, pairs.references) == (2, 1, ())
    pairs = encode(text, Letters(), 4, test=True)
    rows = np.arange(3)
    assert (pairs.longer, pairs.empty, pairs.references) == (2, 1, ("c", "ba", "abcde"))
    np.testing.assert_array_equal(
        pairs.source.padded(rows, 4, 26), [[0, 1, 2, 26], [0, 1, 2, 3], [23, 24, 26, 26]]
    )
    np.testing.assert_array_equal(pairs.target.lengths, [1, 2, 4])
    with pytest.raises(ValueError, match="at most 1 tokens"):
        encode(write(tmp_path, "ab\n", "c\n"), Letters(), 1)


ROWS = st.lists(st.lists(st.integers(0, 8), min_size=2, max_size=9), min_size=1, max_size=9)


@given(ROWS, st.randoms())
def test_buckets_hold_every_pair_once(rows, random):
    others = [row[: random.randint(1, len(row))] for row in rows]
    random.shuffle(others)
    sides = [Ragged.of([t for row in s for t in row], [len(r) for r in s]) for s in (rows, others)]
    found = buckets(TokenPairs(*sides, 9, 0, 0, ()), (4, 2, 16))
    seen = {}
    for (source, n, target, m), at in found:
        width = source.shape[1]
        assert source.shape == target.shape and source.dtype == target.dtype == np.int32
        for i, row in enumerate(at):
            big = max(n[i], m[i])
            assert big <= width and all(big > w for w in (2, 4) if w < width)
            assert (source[i, n[i] :] == 9).all() and (target[i, m[i] :] == 9).all()
            seen[int(row)] = (source[i, : n[i]].tolist(), target[i, : m[i]].tolist())
    assert [seen[i] for i in range(len(rows))] == list(zip(rows, others, strict=True))
    with pytest.raises(ValueError, match="the widest of the widths"):
        buckets(TokenPairs(sides[0], sides[0], 9, 0, 0, ()), (max(map(len, rows)) - 1,))


def sentences(count: int, words: int = 12):
    draw = np.random.default_rng(0)
    names = ["".join(draw.choice(list("bdfgklmnprst"), 3)) for _ in range(words)]
    return [" ".join(names[i] for i in draw.integers(0, words, 6)) for _ in range(count)]


def test_sentencepiece_is_learned_from_both_sides(tmp_path):
    pytest.importorskip("sentencepiece")
    lines = sentences(60)
    text = write(tmp_path, "\n".join(lines), "\n".join(line.upper() for line in lines))
    learned = train_sentencepiece(text, 40)
    both = [lines[0], lines[0].upper()]
    tokens = learned.encode(both)
    assert learned.decode(tokens) == both and learned.vocab == 40
    assert max(map(max, tokens)) < 40 and 0 not in tokens[0] + tokens[1]  # 0 is what is unknown
    assert train_sentencepiece(text, 40).model == learned.model
    (tmp_path / "both.model").write_bytes(learned.model)
    assert load_subwords(tmp_path / "both.model").encode(both) == tokens
    with pytest.raises(ValueError, match=r"vocab is 32000; .* to a value <= \d+"):
        train_sentencepiece(text)


def test_tokenizers_file(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers

    words = {word: i for i, word in enumerate(["[UNK]", "ein", "Hund", "dog"])}
    made = tokenizers.Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.enable_truncation(1)
    made.save(str(tmp_path / "words.json"))
    loaded = load_subwords(tmp_path / "words.json")
    assert loaded.vocab == 4 and loaded.encode(["ein Hund x", ""]) == [[1, 2, 0], []]
    assert loaded.decode([[1, 2], []]) == ["ein Hund", ""]
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match=r"bad\.json cannot be read: this is no tokenizer"):
        load_subwords(tmp_path / "bad.json")


def test_bad_tokenizers_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"ends in \.txt; it must be that of a SentencePiece"):
        load_subwords(tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"a\.model is not there"):
        load_subwords(tmp_path / "a.model")
    text = write(tmp_path, "a\n", "b\n")
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(ImportError, match=r"package sentencepiece: pip install 'minicosm\[text\]'"):
        train_sentencepiece(text)


def by_hand(outputs, references):
    """BLEU of words, no smoothing: geometric mean of four clipped precisions, brevity penalty."""
    logs = []
    for n in range(1, 5):
        right = total = 0
        for output, reference in zip(outputs, references, strict=True):
            grams, known = (
                Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1))
                for side in (output.split(), reference.split())
            )
            right, total = right + sum((grams & known).values()), total + sum(grams.values())
        logs.append(math.log(right / total))
    sizes = [sum(len(s.split()) for s in side) for side in (outputs, references)]
    return 100 * math.exp(sum(logs) / 4 + min(0, 1 - sizes[1] / sizes[0]))


def test_bleu():
    pytest.importorskip("sacrebleu")
    references = sentences(20)
    found = bleu(references, references)
    assert found.score == pytest.approx(100) and "tok:13a|smooth:exp" in found.signature
    outputs = [" ".join(line.split()[:5]) for line in references]
    outputs[0] = references[1]
    assert bleu(outputs, references).score == pytest.approx(by_hand(outputs, references))
    assert "tok:zh" in bleu(["我们"], ["我们"], "zh").signature
    with pytest.raises(ValueError, match="2 outputs and 1 references"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="tokenize is 'klingon'"):
        bleu(["a"], ["a"], "klingon")
