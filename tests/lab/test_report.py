"""The lab book: self-contained, complete, and its figures at home in light and dark."""

import re
from html.parser import HTMLParser

import pytest

from minicosm.lab import LabError, check, figure, to_svg
from minicosm.lab.figures import PALETTE, house_style
from minicosm.lab.report import write_report

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
    assert "What is wrong" in text
    assert "not checked" in text  # the third claim
    assert "[0.3357, 0.6643]" in text
    assert page.count("<svg") == 1


def test_an_empty_store_gives_a_book_of_unchecked_claims(store, study, tmp_path):
    out = tmp_path / "book.html"
    write_report(store, [study], "paper", out)
    _, reader = read(out)
    assert " ".join(reader.text).count("○ not checked") >= len(study.claims)


def test_verdicts_of_older_code_are_marked(store, study, pairs, tmp_path, monkeypatch):
    check(pairs, "smoke", 0, store)
    monkeypatch.setattr(type(study), "code_version", lambda self: "changed")
    out = tmp_path / "book.html"
    write_report(store, [study], "smoke", out)
    assert "3 verdicts were made with older code" in out.read_text()


def test_a_book_that_cannot_be_written_is_one_sentence(store, study, tmp_path):
    with pytest.raises(LabError, match="No such file or directory"):
        write_report(store, [study], "smoke", tmp_path / "none" / "book.html")


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


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", PALETTE)
def test_the_palette_has_contrast_three_on_light_and_dark_paper(colour):
    """WCAG 1.4.11: graphics need a contrast of 3 with their background."""
    for paper in ("#fdfcf9", "#15171b"):
        dark, light = sorted((luminance(colour), luminance(paper)))
        assert (light + 0.05) / (dark + 0.05) >= 3
