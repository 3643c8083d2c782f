"""Panels react at once; what they show is safe HTML; the introduction of each can be typeset."""

import re
import time

import numpy as np
import pytest

from minicosm.explorer import page, panels, settings

REACTS = 0.5  # seconds


@pytest.fixture(scope="module")
def warm():
    for _ in panels.warm():
        pass


def changed(name):
    """A panel with default sizes after something has changed."""
    if name == "markov":
        texts, _ = panels.texts_of_world(**settings.WORLD | {"seed": 5})
        matrices = texts["A"], texts["W"], texts["p0"]
        panels.answers(*matrices, texts["tokens"])
        panels.theorems(*matrices, texts["mu"])
    elif name == "brackets":
        panels.brackets("[](([]", 3)
    elif name == "tree":
        panels.tree(**settings.TREE | {"noise": 1.2, "step": 77})
    else:
        panels.ising(**settings.SPINS | {"temperature": 0.6, "k": 3})


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("name", settings.ABOUT)
def test_a_panel_takes_less_than_half_a_second_of_the_processor(warm, name):
    """The least of three, because other work on the machine makes it slower, never faster."""
    times = []
    for _ in range(3):
        panels.walked.cache_clear()
        panels.moving.cache_clear()
        begun = time.process_time()
        changed(name)
        times.append(time.process_time() - begun)
    assert min(times) < REACTS


@pytest.mark.parametrize("name", settings.ABOUT)
def test_introductions_are_typeset(name):
    assert "<math" in page.prose(settings.ABOUT[name])


def test_text_is_escaped_everywhere():
    bad = "<script>&"
    made = [
        page.sentence(ValueError(bad)),
        page.table([bad], [[bad]], bad),
        page.shades(np.ones((1, 1)), bad, rows=[bad], columns=[bad], corner=bad, written=False),
    ]
    assert all("<script" not in text and "&lt;script&gt;&amp;" in text for text in made)


def test_a_map_has_numbers_frames_and_pale_columns():
    text = page.shades(np.array([[0.0, 0.25], [1.0, 0.6]]), "x", framed=[(0, 1)], pale_after=0)
    cells = re.findall(r"<td(?: class=\"([^\"]*)\")? style=\"--p:([^\"]*)\">([^<]*)</td>", text)
    assert cells == [
        ("", "0", ""), ("framed pale", "0.25", ".25"), ("dark", "1", "1.00"), ("dark pale", "0.6", ".60"),
    ]  # fmt: skip


def test_pictures_say_what_they_are():
    from minicosm.lab.figures import figure

    shown = page.picture("x", 'a "picture"', lambda: figure(1, 1))
    assert 'aria-label="a &quot;picture&quot;"' in shown and 'role="img"' in shown
