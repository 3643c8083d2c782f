"""The picture of an attention map shows the numbers and names that it was given."""

import numpy as np
import pytest

from minicosm.models.attention_patterns import draw_attention

PATTERN = np.array([[1.0, 0, 0], [0.25, 0.75, 0], [0.1, 0.2, 0.7]])


def test_the_map_is_drawn_with_its_tokens(tmp_path):
    ax = draw_attention(PATTERN, tokens="()(", title="layer 1")
    np.testing.assert_array_equal(ax.images[0].get_array(), PATTERN)
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["(", ")", "("]
    assert ax.get_title() == "layer 1" and ax.get_ylabel() == "query"
    ax.figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_keys_of_their_own():
    ax = draw_attention(PATTERN[:2], [0, 1], keys=["a", "b", "c"])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert draw_attention(PATTERN[:2], ax=ax) is ax


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": PATTERN[None]}, "shape (1, 3, 3)"),
        ({"pattern": PATTERN * np.nan}, "finite"),
        ({"pattern": -PATTERN}, "outside [0, 1]"),
        ({"pattern": "abc"}, "pattern"),
        ({"pattern": np.zeros((2001, 2))}, "2001"),
        ({"pattern": PATTERN, "tokens": "()"}, "2 names"),
        ({"pattern": PATTERN, "tokens": 3}, "tokens"),
        ({"pattern": PATTERN, "ax": "abc"}, "ax is 'abc'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, said):
    with pytest.raises((ValueError, TypeError)) as caught:
        draw_attention(**arguments)
    assert said in str(caught.value)
