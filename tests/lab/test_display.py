"""What is printed for people: whole ids, the digits a table asks for, and remarks."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from minicosm.lab import Outcome, Study, Table, Trial, check
from minicosm.lab.catalogue import print_claim, print_list
from minicosm.lab.display import Display, print_verdicts
from minicosm.lab.report import write_report

LONG = "coins/the-longest-of-all-ids-is-as-long-as-so"  # 44 columns, as in our own studies
EDGE = "Our coins have no edge: set EDGE to a coin that has one, such as a very thick one."


@pytest.fixture
def long(study):
    """The claim of a coin's edge, with a long id, a table of five digits and a remark."""

    def outcome(results):
        table = Table("Edges", ("coin", "edge"), (("thick", 28.26149),), digits=5)
        return Outcome("undecided", {"edges": 0}, (table,), EDGE)

    found = Study("coins", "Coins", "On Coins", "Toys.")
    edge = study.claims[2]
    found.add(replace(edge, id=LONG, title="A title of several words that has to go elsewhere",
                      check=outcome))  # fmt: skip
    return found


@pytest.mark.parametrize("width", [80, 100])
def test_ids_are_not_broken(long, store, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_list([long], as_json=False, errors={})
    print_verdicts(Console(), check([(long, long.claims[0])], "smoke", 0, store))
    out = capsys.readouterr().out
    assert (
        sum(line.split()[:2] in ([LONG, "undecided"], ["?", LONG]) for line in out.splitlines())
        == 2
    )
    assert "A title of several" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= width


def test_a_narrow_terminal_breaks_the_id_and_keeps_the_title(long, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_list([long], as_json=False, errors={})
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert LONG not in out and "elsewhere" in out


def test_a_table_is_shown_with_its_digits(long, store, monkeypatch, capsys, tmp_path):
    """From the store too, in the book too; a verdict of before tables had digits has four."""
    claim = long.claims[0]
    check([(long, claim)], "smoke", 0, store)
    print_claim(store, long, claim, "smoke", as_json=False)
    write_report(store, [long], "smoke", tmp_path / "book.html")
    for text in (capsys.readouterr().out, (tmp_path / "book.html").read_text()):
        assert "28.261" in text and "28.2615" not in text
    record, _ = store.load_verdict("smoke", claim.id)
    del record["tables"][0]["digits"]
    store.save_verdict("smoke", claim.id, record, None)
    print_claim(store, long, claim, "smoke", as_json=False)
    out = capsys.readouterr().out
    assert "28.26" in out and "28.261" not in out


def test_remarks_of_what_does_not_hold_are_under_the_table(study, long, store):
    console = Console(file=io.StringIO(), width=80)
    pairs = [(study, study.claims[0]), (long, long.claims[0])]
    checked = check(pairs, "smoke", 0, store)
    print_verdicts(console, checked)
    out = console.file.getvalue()
    assert f"{LONG}: {EDGE}" in " ".join(out.split())
    assert checked[0].outcome.verdict == "holds" and checked[0].outcome.remark
    assert checked[0].outcome.remark not in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_what_is_the_same_for_many_claims_is_said_once(long, store):
    console = Console(file=io.StringIO(), width=80)
    checked = check([(long, long.claims[0])], "smoke", 0, store)
    print_verdicts(console, checked * 4)
    out = " ".join(console.file.getvalue().split())
    assert f"{LONG}, {LONG} and 2 more: {EDGE}" in out and out.count(EDGE) == 1


def test_of_many_claims_those_that_differ_are_listed_and_the_rest_counted(study, long, store):
    checked = check([(study, claim) for claim in study.claims], "smoke", 0, store) * 5
    odd = replace(checked[0], outcome=replace(checked[0].outcome, verdict="fails"))
    console = Console(file=io.StringIO(), width=80)
    print_verdicts(console, [*checked, odd])
    out = console.file.getvalue()
    assert "coins/fair" in out and "fails (!)" in out and "coins/edge" not in out
    assert "15 of 16 claims came out as registered (5 holds, 5 fails, 5 undecided)." in out
    print_verdicts(console, [*checked, odd], every=True)
    assert console.file.getvalue().count("coins/edge") >= 5


def refuse(config, progress):
    raise ValueError(f"the coin is {config}; it must be round\nand whole")


def fall(config, progress):
    raise UnicodeDecodeError("utf-8", b"", 0, 1, "no coin")


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (refuse, "the coin is 3; it must be round"),
        (fall, "UnicodeDecodeError: "),
    ],
)
def test_a_sentence_of_a_trial_is_shown_without_its_class(study, store, run, sentence):
    claim = replace(study.claims[2], trials=lambda profile, seed: {"a": Trial(run, 3)})
    (item,) = check([(study, claim)], "smoke", 0, store)
    assert item.error.sentence.startswith(f"trial 'coins/edge a': {sentence}")


def test_what_differs_comes_first(study, store):
    checked = check([(study, claim) for claim in study.claims], "smoke", 0, store)
    odd = replace(checked[-1], outcome=replace(checked[-1].outcome, verdict="fails"))
    console = Console(file=io.StringIO(), width=80)
    print_verdicts(console, [*checked[:-1], odd])
    rows = [line for line in console.file.getvalue().splitlines() if line.startswith("coins/")]
    assert rows[0].split()[:2] == [odd.claim.id, "fails"] and "(!)" in rows[0]
    assert [row.split()[0] for row in rows[1:3]] == [item.claim.id for item in checked[:-1]]


def test_every_trial_has_a_bar_while_it_runs_and_a_line_when_it_ended():
    display = Display()
    display.console = Console(
        file=io.StringIO(), width=80, force_terminal=True, force_interactive=True, highlight=False
    )
    with display.trials(2, 0):
        display.progress("one", 1, 4)
        display.progress("two", 3, 4, "half way")
        display.progress("one", 2, 4)
        live = {task.description: task.fields["count"] for task in display._live.tasks}
        assert live == {"trials": "0/2", "one": "2/4", "two: half way": "3/4"}
        display.ended("one", 2.0, None)
        assert [task.description for task in display._live.tasks] == ["trials", "two: half way"]
        display.ended("two", 3.0, None)
    out = display.console.file.getvalue()
    assert out.count("trial 1/2  one  (2.0 s)") == 1 and out.count("trial 2/2  two  (3.0 s)") == 1
