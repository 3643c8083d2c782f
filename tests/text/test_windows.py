"""Windows of a text: words, rare ones, the last window, and what is no text."""

import jax
import numpy as np
import pytest

from minicosm.text import TextWindows


def test_words_become_windows(tmp_path):
    (tmp_path / "a.txt").write_text("The cat, the dog. The CAT!")
    (tmp_path / "b.txt").write_text("the end")
    world = TextWindows.read(tmp_path, vocab=4, window=5)
    assert world.words == ("the", "cat", "!", "<rare>") and world.vocab == 4 and world.longest == 5
    np.testing.assert_array_equal(world.tokens, [[0, 1, 3, 0, 3], [3, 0, 1, 2, 4], [0, 3, 4, 4, 4]])
    np.testing.assert_array_equal(world.lengths, [5, 4, 2])
    drawn = world.sample(jax.random.key(0))
    assert drawn.tokens.shape == (5,) and int(drawn.length) in (5, 4, 2)
    some, rest = world.split(1)
    assert len(some.lengths) == 2 and rest.lengths.tolist() == [2]


def test_what_is_no_text_meets_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        TextWindows.read(tmp_path / "none")
    with pytest.raises(ValueError, match=r"no \.txt files"):
        TextWindows.read(tmp_path)
    (tmp_path / "a.txt").write_text("one two")
    with pytest.raises(ValueError, match="2 words"):
        TextWindows.read(tmp_path, window=8)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="UTF-8"):
        TextWindows.read(tmp_path)
