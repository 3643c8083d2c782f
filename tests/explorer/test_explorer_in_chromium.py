"""The explorer in a real browser: every tab shows what it is for and reacts, without a network."""

import importlib.util
import os
import re
import signal
import subprocess
import sys

import pytest
from browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(
        importlib.util.find_spec("marimo") is None, reason="needs marimo: make test-extras"
    ),
    pytest.mark.long,
]

TABS = ("markov", "brackets", "tree", "spins")
SHOWS = {
    "markov": "Exact score against",
    "brackets": "Law of the next bracket",
    "tree": "The tree of all strings",
    "spins": "Total variation from the law by steps",
}

# marimo's widgets have trees of their own.
DEEP = """window.deep = (words, root = document) => [...root.querySelectorAll(words),
  ...[...root.querySelectorAll("*")].flatMap((e) => e.shadowRoot ? deep(words, e.shadowRoot) : [])]; true"""
CHOOSE = """(() => { const tab = deep("[role=tab]")[%d];
  tab.dispatchEvent(new MouseEvent("mousedown", {bubbles: true, button: 0})); tab.click(); })()"""
TYPE = """(() => { const field = deep("input, textarea").find((e) => e.value === %r);
  const kind = field.tagName === "INPUT" ? HTMLInputElement : HTMLTextAreaElement;
  Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(field, %r);
  for (const name of ["input", "change", "blur", "focusout"])
    field.dispatchEvent(new Event(name, {bubbles: true})); })()"""
SLIDE = """(() => { const thumb = deep("[role=slider]").at(-1); thumb.focus();
  thumb.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})); })()"""


def shows(alt):
    return f"document.querySelectorAll(\"svg[aria-label^='{alt}']\").length > 0"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server of its own, on a port that is free."""
    home = tmp_path_factory.mktemp("explorer")
    server = subprocess.Popen(
        [sys.executable, "-m", "minicosm", "explore", "--headless", "--port", "0"],
        stdout=subprocess.PIPE, text=True, cwd=home,
        env=os.environ | {"MINICOSM_HOME": str(home / "store"), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    found = re.search(r"http://\S+", server.stdout.readline())
    yield found[0]
    server.send_signal(signal.SIGINT)
    assert server.wait(30) == 0


@pytest.fixture(scope="module")
def page(address, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    browser.width(1280)
    browser.open(address)
    browser.until(shows(SHOWS["markov"]), 120)
    browser.run(DEEP)
    yield browser
    browser.close()


def choose(page, tab):
    page.run(CHOOSE % TABS.index(tab))
    page.until(shows(SHOWS[tab]))


@pytest.mark.parametrize("width", [375, 1280])
def test_no_tab_is_wider_than_the_window(page, width):
    page.width(width)
    for tab in TABS:
        choose(page, tab)
        assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0, tab
    page.width(1280)


def test_a_matrix_that_is_edited_is_judged_and_one_that_is_not_stochastic_is_a_sentence(page):
    choose(page, "markov")
    matrix = page.run("deep('textarea')[0].value")
    wrong = "0.5" + matrix[1:]
    page.run(TYPE % (matrix, wrong))
    page.until("document.querySelectorAll('[role=alert]').length > 0")
    said = page.run("document.querySelector('[role=alert]').innerText")
    assert "every column of A must sum to 1" in said
    page.run(TYPE % (wrong, matrix))
    page.until(shows(SHOWS["markov"]))


def test_brackets_are_read_as_they_are_typed(page):
    choose(page, "brackets")
    first = page.run("document.querySelector('table.data').innerText")
    page.run(TYPE % ("([]([()])[]", "([]"))
    page.until(f"document.querySelector('table.data').innerText !== {first!r}")
    page.run(TYPE % ("([]", "(]"))
    page.until("document.querySelectorAll('[role=alert]').length > 0")
    said = page.run("document.querySelector('[role=alert]').innerText")
    assert said == "sign 2, ], cannot close (, which is open there"
    page.run(TYPE % ("(]", "([]([()])[]"))
    page.until(shows(SHOWS["brackets"]))


@pytest.mark.parametrize("tab, alt", [("tree", "The tree of all strings"), ("spins", "Law of the")])
def test_a_slider_moves_the_walk_and_the_chain(page, tab, alt):
    choose(page, tab)
    whole = "[...document.querySelectorAll('figure')].map((f) => f.innerText).join()"
    before = page.run(whole)
    page.run(SLIDE)
    page.until(f"{whole} !== {before!r}")
    page.until(shows(alt))


def test_widgets_have_names_and_pictures_have_words(page):
    for tab in TABS:
        choose(page, tab)
        nameless = page.run(
            """deep("input, textarea, select, [role=slider]").filter((e) =>
            !(e.labels?.length || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
              || e.closest("label") || e.getAttribute("aria-hidden") || e.type === "hidden"
              || e.getRootNode().querySelector("label"))).map((e) => e.outerHTML)"""
        )
        assert nameless == [], tab
        silent = "[...document.querySelectorAll('figure svg')].filter((s) => !s.ariaLabel).length"
        assert page.run(silent) == 0, tab


def test_nothing_went_wrong_and_nothing_was_asked_of_the_network(page, address):
    assert page.wrong == []
    outside = [url for url in page.asked if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
