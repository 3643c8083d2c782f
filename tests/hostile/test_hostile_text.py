"""Every public callable of `minicosm.text` meets hostile arguments with one sentence."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from hostile import VALUES, Call, array, count, faults, flag, key, report, thing
from minicosm import text

pytestmark = pytest.mark.usefixtures("unchecked_types")

BIG = ("2**40", "2**70")
ANY = tuple(VALUES)
FOLDER = Path(tempfile.mkdtemp())
for name in ("source", "target"):
    (FOLDER / name).write_text("a b c\nd e f\n" * 5)
(FOLDER / "words.txt").write_text("the cat and the dog. " * 5)
WINDOWS = text.TextWindows.read(FOLDER / "words.txt", vocab=4, window=8)
LINES = text.ParallelText(FOLDER / "source", FOLDER / "target")
PIECES = text.train_sentencepiece(LINES, 8)
(FOLDER / "pieces.model").write_bytes(PIECES.model)
RAGGED = text.Ragged.of([0, 1, 2], [2, 1])
PAIRS = text.TokenPairs(RAGGED, RAGGED, 3, 0, 0, ())
LIMITS = text.Limits(seconds=1)
CASE = text.Case("f", (1,), 1)
FINITE = thing(1.0, allows=("2.5",))

CALLS = [
    Call(text.bleu, outputs=thing(["a b c d"]), references=thing(["a b c e"]), tokenize=thing("13a")),
    Call(text.Case, name=thing("f", allows="'abc'"), arguments=thing((1,)),
         expected=thing(1, allows=ANY, nan=("nan", "array of nan"))),
    Call(text.read_case, line=thing("assert f(1) == 1", allows="'abc'")),
    Call(text.Limits, seconds=FINITE, megabytes=FINITE, output=FINITE),
    Call(text.run, code=thing("", allows="'abc'"), limits=thing(LIMITS, allows="None"), trusted=flag(False)),
    Call(text.judge, code=thing("def f(x): return x", allows="'abc'"), cases=thing([CASE]),
         limits=thing(LIMITS, allows="None"), trusted=flag(False)),
    Call(text.ParallelText, source=thing(FOLDER / "source"), target=thing(FOLDER / "target"),
         longest_line=count(3)),
    Call(text.SentencePiece, model=thing(PIECES.model)),
    Call(PIECES.encode, sentences=thing(["a b"], allows="[]")),
    Call(PIECES.decode, tokens=thing([[0, 1]], allows=("[]", "[[]]", "ragged", "array without entries"))),
    Call(text.load_subwords, path=thing(FOLDER / "pieces.model")),
    Call(text.train_sentencepiece, text=thing(LINES), vocab=count(8), coverage=thing(1.0)),
    Call(text.Ragged.of, tokens=array([0, 1, 2], allows=("entry -1", "entry 10**6"), names="lengths"),
         lengths=array([2, 1])),
    Call(RAGGED.padded, rows=array([0, 1], allows=("one entry less", "[]")), width=count(2),
         pad=count(3, allows=("-1", "0"))),
    Call(text.TokenPairs, source=thing(RAGGED), target=thing(RAGGED), vocab=count(3, allows=BIG),
         longer=count(1, allows=("0", *BIG)), empty=count(1, allows=("0", *BIG)), references=thing(())),
    Call(text.encode, text=thing(LINES), subwords=thing(PIECES), longest=count(8, allows=BIG),
         test=flag(True)),
    Call(text.TextWindows, tokens=array(np.asarray(WINDOWS.tokens), names="lengths"),
         lengths=array(np.asarray(WINDOWS.lengths), names="tokens"), words=thing(WINDOWS.words)),
    Call(text.TextWindows.read, path=thing(FOLDER / "words.txt"), vocab=count(4), window=count(8)),
    Call(WINDOWS.sample, key=key()),
    Call(WINDOWS.split, held=count(1)),
    Call(text.buckets, pairs=thing(PAIRS), widths=array([2, 4], allows=("entry 10**6", "one entry less"))),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


def test_the_front_door_is_light_and_complete():
    assert all(getattr(text, name) is not None for name in text.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = text.nonsense
    assert np.array_equal(RAGGED.lengths, [2, 1])
