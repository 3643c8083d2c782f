"""Links of the lab book land on their claims: on a long page, whose claims get their heights late."""

import importlib.util

import pytest
from browser import CHROMIUM, Browser

from minicosm.lab import Store
from minicosm.lab.reference import Reference
from minicosm.lab.report import write_report
from minicosm.studies import DYCK

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(
        importlib.util.find_spec("websockets") is None, reason="needs websockets: make test-extras"
    ),
    pytest.mark.long,
]

LAND = """new Promise((landed) => { location.hash = "#" + %s.id;
  setTimeout(() => landed(%s.querySelector("summary").getBoundingClientRect().top), 800); })"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    return write_report(Store(folder), [DYCK], "laptop", folder / "book", Reference()).parent


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.mark.parametrize("width", [375, 1280])
def test_a_link_lands_on_its_claim(page, book, width):
    """From the page itself and from elsewhere; where a filter hides the claim the filter is taken back."""
    page.width(width)
    page.open("about:blank")
    page.open(f"{(book / 'dyck.html').as_uri()}#claim-dyck-pumping")
    page.until("document.readyState === 'complete'")
    page.run("new Promise((done) => setTimeout(done, 800))")
    pumping = 'document.getElementById("claim-dyck-pumping")'
    tops = [page.run(f"{pumping}.querySelector('summary').getBoundingClientRect().top")]
    page.run("window.claims = [...document.querySelectorAll('details.claim')]; 0")
    tops += [page.run(LAND % ((f"claims[{place}]",) * 2)) for place in (50, 8, 30)]
    page.run(
        """window.form = document.querySelector(".filters");
        form.elements.state.value = "undecided"; form.dispatchEvent(new Event("input"));
        window.gone = claims.find((claim) => claim.closest("section.group").hidden); 0"""
    )
    assert page.run("gone.offsetHeight") == 0
    tops.append(page.run(LAND % (("gone",) * 2)))
    assert page.run("gone.offsetHeight") > 0
    assert all(0 < top < 200 for top in tops), tops
    assert page.run("form.querySelector('output').textContent") == f"{len(DYCK.claims)} claims"
    assert page.wrong == []
