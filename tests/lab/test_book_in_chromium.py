"""The lab book in a real browser: no errors, search and filters work, nothing overflows."""

import json
import re
import shutil
import subprocess

import pytest

from minicosm.lab import check
from minicosm.lab.report import write_report

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

ERRORS = """<script>window.wrong = []; addEventListener("error", (e) => wrong.push(String(e.message)), true);
const said = console.error; console.error = (...w) => { wrong.push(w.join(" ")); said(...w); };</script>"""


def play(page, folder, script, width=None):
    """Open a page, in a frame of some width if one is given, since windows have a least one; run a script
    in it and give what the script returns. Errors of the page fail."""
    text = page.read_text().replace("<head>", f"<head>{ERRORS}", 1)
    report = (
        f"<script>const result = (() => {{ {script} }})();"
        'const box = top.document.createElement("pre"); box.id = "report";'
        "box.textContent = JSON.stringify({result, wrong}); top.document.body.append(box);"
        "</script></body>"
    )
    text = text.replace("</body>", report, 1)
    if width is not None:
        inner = json.dumps(text).replace("<", "\\u003c")
        frame = f'<iframe style="border: 0; width: {width}px; height: 900px"></iframe>'
        put = f'document.querySelector("iframe").srcdoc = {inner};'
        text = f"<!doctype html><html><body>{frame}<script>{put}</script></body></html>"
    played = page.with_name(f"played-{page.name}")
    played.write_text(text)
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000",
            "--virtual-time-budget=2000", "--dump-dom", played.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, flags=re.DOTALL)
    assert found, done.stderr[-2000:]
    report = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert report["wrong"] == []
    return report["result"]


@pytest.fixture
def book(store, study, pairs, tmp_path):
    check(pairs, "smoke", 0, store)
    write_report(store, [study], "smoke", tmp_path / "book")
    return tmp_path / "book"


@pytest.mark.long
@pytest.mark.parametrize("width", [375, 1280])
def test_no_page_is_wider_than_the_window(book, tmp_path, width):
    for name in ("index", "coins", "errata", "versions"):
        over, wide = play(
            book / f"{name}.html",
            tmp_path,
            'for (const d of document.querySelectorAll("details")) d.open = true;'
            "return [document.documentElement.scrollWidth - innerWidth, innerWidth];",
            width,
        )
        assert wide == width and over <= 0, name


def test_a_search_finds_claims_by_all_words_and_leads_to_them(book, tmp_path):
    found = play(
        book / "index.html",
        tmp_path,
        """const input = document.querySelector(".search input");
        const links = (words) => { input.value = words; input.dispatchEvent(new Event("input"));
          return [...document.querySelectorAll("#found a")].map((a) => a.getAttribute("href")); };
        return [links("edge"), links("heads half"), links("nothing at all of this"), links("")];""",
    )
    assert found == [
        ["coins.html#claim-coins-edge"],
        ["coins.html#claim-coins-fair"],
        [],
        [],
    ]


def test_filters_leave_the_claims_that_fit(book, tmp_path):
    shown = play(
        book / "coins.html",
        tmp_path,
        """const form = document.querySelector(".filters");
        const set = (name, value) => { const field = form.elements[name];
          if (field.type === "checkbox") field.checked = value; else field.value = value;
          form.dispatchEvent(new Event("input"));
          return [...document.querySelectorAll("details.claim:not([hidden])")].map((d) => d.id); };
        const states = [set("state", "holds"), set("state", "refuted"), set("state", "")];
        return [...states, set("kind", "experiment"), (set("kind", ""), set("erratum", true)),
                form.querySelector("output").textContent];""",
    )
    every = ["claim-coins-fair", "claim-coins-always-heads", "claim-coins-edge"]
    assert shown == [[every[0]], [every[1]], every, [every[2]], [every[1]], "1 of 3 claims"]


@pytest.mark.long
def test_a_link_to_a_claim_opens_it_and_the_theme_turns(book, tmp_path):
    opened = play(
        book / "coins.html",
        tmp_path,
        """location.hash = "#claim-coins-edge"; arrive();
        document.querySelector(".theme").click();
        return [document.getElementById("claim-coins-edge").open, document.documentElement.dataset.theme];""",
    )
    assert opened == [True, "dark"]


def test_regions_and_pictures_have_names_of_their_own(book, tmp_path):
    """What is read aloud: two regions of one name cannot be told apart, a picture without one is silent."""
    for name in ("index", "coins"):
        labels, silent = play(
            book / f"{name}.html",
            tmp_path,
            'const all = (q) => [...document.querySelectorAll(q)].map((e) => e.getAttribute("aria-label"));'
            "return [all('[role=region]'), all('[role=img]').filter((label) => !label).length];",
        )
        assert labels and len(set(labels)) == len(labels) and all(labels), name
        assert silent == 0, name
