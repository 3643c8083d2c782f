"""The lab book: self-contained, complete, and its figures at home in light and dark."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
import toy_study

from minicosm.lab import PALETTE, LabError, Store, Study, Trial, check, figure, to_svg
from minicosm.lab.catalogue import print_claim, print_list
from minicosm.lab.figures import house_style, lean
from minicosm.lab.reference import Reference, keep
from minicosm.lab.report import write_report
from minicosm.lab.statement_map import HEIGHT, Box, columns, draw, layout, ranks

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "use", "rect"}


class Reader(HTMLParser):
    """Collects ids, links and text, and insists that elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.external, self.open, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("href", "xlink:href"):
            if found.get(name, "").startswith("#"):
                self.links.append(found[name][1:])
            elif name in found:
                self.external.append(found[name])
        if "src" in found:
            self.external.append(found["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    page = path.read_text()
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return page, reader


def test_the_book_is_well_formed_self_contained_and_complete(store, study, pairs, tmp_path):
    check(pairs[:2], "smoke", 0, store)
    out = tmp_path / "book.html"
    write_report(store, [study], "smoke", out)
    page, reader = read(out)
    text = re.sub(r"\s+", " ", " ".join(reader.text))
    assert reader.external == []
    assert not re.search(r"@import|url\((?!#)", page)
    assert len(reader.ids) == len(set(reader.ids))
    assert set(reader.links) <= set(reader.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(reader.ids)
    for claim in study.claims:
        assert claim.title in text
        assert claim.source in text
        assert f"minicosm check {claim.id} --profile smoke --seed 0" in text
    assert "What was found" in text and "✕ fails as printed" in text
    assert "not checked" in text  # the third claim
    assert "[0.3357, 0.6643]" in text
    assert page.count("<svg") == 2  # of one claim: on the front and with the claim


@pytest.mark.parametrize("where", ["trial", "check", "figure"])
def test_what_raised_is_a_state_of_its_own(store, study, pairs, tmp_path, capsys, where):
    """In the book, in `show` and in `list`, with its sentence; until the claim is checked again."""

    def broken(results):
        raise ValueError("no <ink>")

    fair = pairs[0][1]
    bad, sentence = {
        "trial": (
            replace(fair, trials=lambda profile, seed: {"odd": Trial(toy_study.crash, None)}),
            "trial 'coins/fair odd': RuntimeError: the coin rolled away",
        ),
        "check": (replace(fair, check=broken), "its check: no <ink>"),
        "figure": (replace(fair, figure=broken), "its figure: no <ink>"),
    }[where]
    check(pairs, "smoke", 0, store)
    check([(study, bad)], "smoke", 0, store)
    out = tmp_path / "book.html"
    write_report(store, [study], "smoke", out)
    page, reader = read(out)
    text = " ".join(reader.text)
    assert f"error: {sentence}" in text and "! error" in text and "<ink>" not in page
    assert "not checked" not in text
    assert re.search(r'class="error"><dt>error</dt><dd>1<', page)
    print_claim(store, study, fair, "smoke", False)
    shown = capsys.readouterr().out
    assert f"error: {sentence}" in shown and "Not checked" not in shown
    assert "Last verdict" not in shown
    print_claim(store, study, fair, "smoke", True)
    assert json.loads(capsys.readouterr().out)["last"]["error"] == sentence
    print_list([study], True, store.errors())
    first, *others = json.loads(capsys.readouterr().out)[0]["claims"]
    assert first["errors"] == {"smoke": sentence} and not any(c["errors"] for c in others)
    print_list([study], False, store.errors())
    listed = capsys.readouterr().out
    assert "error" in listed and "smoke: " in listed
    check(pairs, "smoke", 0, store)
    assert store.errors() == {}
    write_report(store, [study], "smoke", out)
    assert "! error" not in out.read_text()


def test_the_book_is_a_folder_of_pages_that_lead_to_each_other(store, study, pairs, tmp_path):
    check(pairs, "smoke", 0, store)
    assert write_report(store, [study], "smoke", tmp_path / "book") == tmp_path / "book/index.html"
    pages = {path.name: read(path)[1] for path in (tmp_path / "book").glob("*.html")}
    assert set(pages) == {"index.html", "coins.html", "errata.html", "versions.html"}
    for page in pages.values():
        assert len(page.ids) == len(set(page.ids)) and set(page.links) <= set(page.ids)
        for link in page.external:
            file, _, place = link.partition("#")
            file = file.partition("?")[0]
            assert (tmp_path / "book" / file).is_file(), link
            assert not place or place in pages[file].ids, link
    searched = (tmp_path / "book" / "claims.js").read_text()
    assert searched.startswith("const CLAIMS = [") and "<" not in searched


def test_reference_results_stand_in_and_say_so(store, study, pairs, tmp_path, capsys):
    check(pairs, "laptop", 0, store)
    keep(pairs, "laptop", store, tmp_path / "reference")
    reference, empty = Reference(tmp_path / "reference"), Store(tmp_path / "empty")
    write_report(empty, [study], "smoke", tmp_path / "book.html", reference)
    text = " ".join(read(tmp_path / "book.html")[1].text)
    assert "3 of 3 verdicts are reference results" in text and "reference of 20" in text
    print_claim(empty, study, study.claims[0], "smoke", False, reference)
    shown = capsys.readouterr().out
    assert "Reference result: holds (laptop, seed 0" in shown and "Kept with the package" in shown


def test_the_map_of_statements_has_ranks_and_refuses_circles():
    uses = {"theorem": ("lemma-2", "lemma-1"), "lemma-2": ("lemma-1",), "corollary": ("theorem",)}
    assert ranks(uses) == {"lemma-1": 0, "lemma-2": 1, "theorem": 2, "corollary": 3}
    boxes = [
        Box(name, name, f"#{name}", "holds", "holds")
        for name in ("lemma-1", "lemma-2", "theorem", "corollary")
    ]
    svg = ElementTree.fromstring(draw(boxes, uses))
    assert len(svg.findall("a")) == 4 and len(svg.findall("path[@class='edge']")) == 4
    assert draw(boxes, {}) == ""
    with pytest.raises(ValueError, match="stands on itself"):
        ranks({"a": ("b",), "b": ("a",)})


def test_boxes_of_the_map_do_not_overlap_and_no_edge_passes_through_one():
    uses = {"a": ("b", "c", "d"), "b": ("c",), "e": ("a", "d", "f"), "x": ("y",), "z": ("y",)}
    assert columns(uses) == {"c": 0, "d": 1, "b": 1, "a": 2, "f": 2, "e": 3, "y": 0, "x": 1, "z": 1}
    at = layout(uses)
    assert {node for node in at if not isinstance(node, str)} == {("c", 1), ("d", 2)}
    for node, (place, y) in at.items():
        for other, (where, height) in at.items():
            if node != other and place == where:
                boxes = isinstance(node, str) + isinstance(other, str)
                assert abs(y - height) > boxes * HEIGHT / 2, (node, other)
    alone = layout({"chain-2": ("chain-1",), "chain-3": ("chain-2",)})
    assert len({y for _, y in alone.values()}) == 1  # nothing in the way: a straight line


def test_an_empty_store_gives_a_book_of_unchecked_claims(store, study, tmp_path):
    out = tmp_path / "book.html"
    write_report(store, [study], "paper", out)
    _, reader = read(out)
    assert " ".join(reader.text).count("○ not checked") >= len(study.claims)


def test_verdicts_of_older_code_are_marked(store, study, pairs, tmp_path, monkeypatch):
    check(pairs, "smoke", 0, store)
    monkeypatch.setattr(
        "minicosm.lab.fingerprints.Fingerprints.of_claim", lambda self, claim: "changed"
    )
    out = tmp_path / "book.html"
    write_report(store, [study], "smoke", out)
    assert "3 verdicts were made with older code" in out.read_text()


def test_a_book_that_cannot_be_written_is_one_sentence(store, study, tmp_path):
    with pytest.raises(LabError, match="there is no folder"):
        write_report(store, [study], "smoke", tmp_path / "none" / "book.html")


def test_a_page_is_not_put_in_the_place_of_what_is_no_file(store, study, tmp_path):
    write_report(store, [study], "smoke", tmp_path / "book")
    (tmp_path / "book" / "versions.html").unlink()
    os.mkfifo(tmp_path / "book" / "versions.html")
    (tmp_path / "book" / "index.html").write_text("as it was")
    with pytest.raises(LabError, match=r"versions\.html: it is no regular file"):
        write_report(store, [study], "smoke", tmp_path / "book")
    assert (tmp_path / "book" / "versions.html").is_fifo()
    assert (tmp_path / "book" / "index.html").read_text() == "as it was"


def test_figures_take_the_ink_of_the_page_and_keep_their_ids_apart():
    drawn = []
    for name in ("a/one", "a/two"):
        with house_style():
            fig = figure(4.0, 3.0)
            axes = fig.subplots()
            axes.plot([0, 1], marker="o")
            axes.set_title("title")
            drawn.append(to_svg(fig, name))
    for svg in drawn:
        assert "currentColor" in svg
        assert "#010203" not in svg and "#000000" not in svg and "#ffffff" not in svg
        assert PALETTE[0] in svg
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= set(ids)
    first, second = (set(re.findall(r'\bid="([^"]+)"', svg)) for svg in drawn)
    assert not first & second
    with house_style():
        fig = figure(4.0, 3.0)
        axes = fig.subplots()
        axes.plot([0, 1], marker="o")
        axes.set_title("title")
        assert to_svg(fig, "a/one") == drawn[0]


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("colour", PALETTE)
def test_the_palette_has_contrast_three_on_light_and_dark_paper(colour):
    """WCAG 1.4.11: graphics need a contrast of 3 with their background."""
    for paper in ("#fdfcf9", "#15171b"):
        dark, light = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (colour, paper))
        assert (light + 0.05) / (dark + 0.05) >= 3


SEEN = {  # Machado, Oliveira, Fernandes 2009, full severity, on linear RGB
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("eye", SEEN)
def test_the_palette_stays_apart_for_colour_blind_readers(eye):
    """Any two colours differ by at least 20 in CIELAB (1 is just noticeable side by side)."""
    xyz = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
    points = []
    for colour in PALETTE:
        x = xyz @ np.clip(np.array(SEEN[eye]) @ linear(colour), 0, 1) / [0.9505, 1, 1.0888]
        f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
        points.append([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
    assert min(np.linalg.norm(np.subtract(a, b)) for a, b in combinations(points, 2)) > 20


def test_dark_grey_follows_the_page_into_the_dark():
    with house_style():
        fig = figure()
        for shade in ("0.2", "0.35", "0.5", "#123456"):
            fig.text(0.5, float(shade) if shade[0] == "0" else 0.8, f"grey {shade}", color=shade)
        slim = lean(to_svg(fig), "f1")
    found = {
        text: colour for colour, text in re.findall(r'fill: ([^";]+)[^>]*>grey ([^<]+)<', slim)
    }
    assert found == {
        "0.2": "var(--soft)", "0.35": "var(--soft)", "0.5": "#808080", "#123456": "#123456",
    }  # fmt: skip


def test_lean_figures_have_the_same_marks_in_fewer_bytes():
    """By reading both files: every mark has its place, its shape, and its style from itself or its group."""
    with house_style():
        fig = figure()
        axes = fig.add_subplot()
        axes.scatter(np.arange(40), np.arange(40) ** 2, s=4, alpha=0.5)
        axes.plot([0, 40], [0, 900], "s--", label="$x_1$")
        axes.legend()
        svg = to_svg(fig, "figure of points")
    slim = lean(svg, "f7")
    assert len(slim) < 0.7 * len(svg)

    def marks(text):
        link = "{http://www.w3.org/1999/xlink}href"
        xml = text.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1)
        root = ElementTree.fromstring(text if "xmlns:xlink" in text else xml)
        shapes = {
            e.get("id"): re.sub(r"\s", "", e.get("d", "")) for e in root.iter() if e.get("id")
        }
        found = []

        def walk(element, style):
            style = {**style, **dict(re.findall(r"([\w-]+): ([^;]+)", element.get("style", "")))}
            if element.tag.endswith("use"):
                shape = shapes[(element.get("href") or element.get(link))[1:]]
                found.append((element.get("x"), element.get("y"), shape, sorted(style.items())))
            for child in element:
                walk(child, style)

        walk(root, {})
        return found

    assert marks(slim) == marks(svg) and len(marks(svg)) > 40
    ids = re.findall(r' id="([^"]+)"', slim)
    assert len(ids) == len(set(ids)) and all(name.startswith("f7") for name in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', slim)) == {
        name for name in ids if name != "f7"
    }


def test_a_figure_of_two_findings_is_drawn_once_on_a_page(study, store, pairs, tmp_path):
    """The second finding names the first, and both claims show it: the first by reference."""
    named = Study(
        "coins", study.title, study.source, study.about, headlines=("coins/fair", "coins/edge")
    )
    for claim in study.claims:
        fair = pairs[0][1]
        named.add(replace(claim, trials=fair.trials, check=fair.check, figure=fair.figure))
    check([(named, claim) for claim in named.claims], "smoke", 0, store)
    write_report(store, [named], "smoke", tmp_path / "book")
    page, reader = read(tmp_path / "book" / "coins.html")
    whole = re.findall(r'<g id="(f[0-9a-f]+)"', page)
    again = re.findall(r'<use href="#(f[0-9a-f]+)"', page)
    assert again == whole[:1] and len(whole) == 3
    assert f"Its figure is that of “{named.claims[0].title}”." in " ".join(reader.text)
    assert len(reader.ids) == len(set(reader.ids)) and set(reader.links) <= set(reader.ids)


def test_the_page_of_versions_says_which_runs_the_verdicts_are_of(store, study, pairs, tmp_path):
    check(pairs, "smoke", 0, store)
    page = write_report(store, [study], "smoke", tmp_path / "book").with_name("versions.html")
    rows = re.findall(r"<tr>(.*?)</tr>", page.read_text().partition(">Runs<")[2])
    cells = [re.sub(r"<[^>]+>", " ", cell).split() for cell in rows[-1].split("</td>")]
    assert cells[:4] == [["coins"], ["3"], ["your", "own"], ["smoke"]] and cells[4] == ["0"]


def test_a_figure_is_no_smaller_than_its_numbers_can_be_read(store, study, pairs, tmp_path):
    check(pairs, "smoke", 0, store)
    text = write_report(store, [study], "smoke", tmp_path / "book.html").read_text()
    sizes = re.findall(r"max-width: (\d+)px; --least: (\d+)px", text)
    assert sizes and all(int(least) == round(0.7 * int(most)) for most, least in sizes)
