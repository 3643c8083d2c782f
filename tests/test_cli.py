"""The command line: exit codes, one sentence for bad input, JSON for programs, and speed."""

import json
import os
import shutil
import subprocess
import sys
import types
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.cli import EXAMPLES, main
from minicosm.lab import Erratum, Estimate, LabError, Outcome, Study, Trial, TrialResult
from minicosm.lab.catalogue import select
from minicosm.worlds import Dyck


@dataclass(frozen=True)
class Die:
    sides: int
    seed: int


def roll(config, progress):
    rolls = np.random.default_rng(config.seed).integers(1, config.sides + 1, 50)
    return TrialResult({"mean": float(rolls.mean())}, {"rolls": rolls})


def claims(study, expected_of_loaded="fails"):
    def trials(profile, seed):
        return {str(i): Trial(roll, Die(6, 10 * seed + i)) for i in range(3)}

    texts = {"source": "On Dice", "statement": "A *die*.", "criterion": "the mean"}

    @study.claim(id="dice/mean-3.5", title="Rolls average 3.5", trials=trials, **texts)
    def mean(results):
        mean = Estimate.of([r.numbers["mean"] for r in results.values()])
        return Outcome("holds", {"mean [of rolls]": mean, "odd": float("nan")})

    def shaped(profile, seed, *, sides: tuple[int, ...] = (6,)):
        if min(sides) < 1:
            raise ValueError(f"sides is {min(sides)}; it must be at least 1")
        return trials(profile, seed) | {f"d{n}": Trial(roll, Die(n, seed)) for n in sides}

    @study.claim(
        id="dice/loaded",
        title="Dice are loaded",
        trials=shaped,
        expected=expected_of_loaded,
        erratum=Erratum("gap", "They are not.", "dice/mean-3.5"),
        **texts,
    )
    def loaded(results):
        return Outcome("fails", {"rolls": 150, "trials": len(results)})

    return study


def dice(**options):
    return claims(Study("dice", "Dice", "On Dice, 1906", "Toys."), **options)


def use(monkeypatch, *studies):
    """Put the given studies in place of the real ones."""
    module = types.ModuleType("minicosm.studies")
    module.STUDIES = studies
    monkeypatch.setitem(sys.modules, "minicosm.studies", module)


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    monkeypatch.setenv("MINICOSM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    use(monkeypatch, dice())


@pytest.fixture
def run(capsys):
    """Run a command; its exit code, standard output and standard error."""

    def command(*words):
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return stop.value.code, out, err

    return command


def test_zero_when_everything_came_out_as_registered(run):
    code, out, _ = run("check", "--profile", "smoke")
    assert code == 0
    assert "2 of 2 claims came out as registered" in out
    assert "mean [of rolls]" in out
    assert max(map(len, out.splitlines())) <= 80


def test_one_when_a_verdict_differs_and_the_table_marks_it(run, monkeypatch):
    use(monkeypatch, dice(expected_of_loaded="holds"))
    code, out, _ = run("check", "--profile", "smoke")
    assert code == 1
    assert "fails (!)" in out
    assert "registered as holds (!)" in " ".join(out.split())


def test_three_when_a_trial_raises_with_its_traceback_only_on_request(run, monkeypatch, capsys):
    def broken(config, progress):
        raise RuntimeError("the die fell off the table")

    broken.__qualname__ = "broken"
    monkeypatch.setattr(sys.modules[__name__], "roll", broken)
    use(monkeypatch, dice())
    code, out, _ = run("check", "--profile", "smoke")
    assert code == 3
    assert "RuntimeError: the die fell off the table" in " ".join(out.split())
    with pytest.raises(SystemExit):
        main(["check", "--profile", "smoke", "--debug"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["show", "dice/lodaed"], "did you mean dice/loaded?"),
        (["check", "mean-3.6"], "did you mean dice/mean-3.5?"),
        (["check", "quite/other"], "minicosm list"),
        (["list", "dcie"], "did you mean dice?"),
        (["show", "dice"], "is a study of 2 claims"),
        (["check", "no_such_file.py"], "there is no file no_such_file.py"),
        (["check", "--jobs", "0"], "jobs is 0"),
        (["check", "--seed", "-1"], "seed is -1"),
        (["check", "--profile", "huge"], "smoke"),
        (["check", "--jobs", "many"], "--jobs"),
        (["frobnicate"], "frobnicate"),
        (["sample", "hmm", "--out", "corpus.csv"], ".parquet"),
        (["sample", "hmm", "--out", "/no/such/folder/c.npz"], "no folder"),
        (["sample", "hmm", "--count", "0", "--out", "c.npz"], "count is 0"),
        (["check", "--set", "sides"], "NAME=VALUE, not as 'sides'"),
        (["check", "--set", "=6"], "NAME=VALUE, not as '=6'"),
        (["check", "--set", "sides=6", "--set", "sides=8"], "option 'sides' is given twice."),
        (["check", "--set", "side=6"], "no selected claim has an option 'side'; they have sides."),
        (["check", "mean-3.5", "--set", "sides=6"], "'sides'; they have no options."),
        (["check", "--set", "sides=4,x"], "option 'sides' is '4,x'; it must be whole numbers"),
        (["check", "--set", "sides=4,0"], "dice/loaded: sides is 0; it must be at least 1."),
        (["report", "--out", "/no/such/folder/book.html"], "cannot write"),
        (["report", "--out", "/dev/null"], "/dev/null is no folder; the lab book is one"),
        (["sample", "hmm", "--out", "/"], "cannot tell the format"),
        (
            ["sample", "ising", "--laws", "next", "--out", "c.npz"],
            "laws is next; the world ising has none or masked",
        ),
        (["sample", "complete-dyck", "--length", "7", "--out", "c.npz"], "it must be even"),
        (["sample", "ising", "--spins", "40", "--out", "c.npz"], "at most 16384 are written out"),
        (
            ["sample", "automaton", "--family", "symmetric", "--size", "9", "--out", "c.npz"],
            "n is 9; it must be at most 7",
        ),
        (
            ["audit", "--profile", "smoke"],
            "check them first, by minicosm check with --profile smoke",
        ),
    ],
)
def test_bad_input_is_two_and_a_sentence(run, words, sentence):
    code, _, err = run(*words)
    assert code == 2
    assert sentence in " ".join(err.replace("│", " ").split())


@given(st.text(max_size=30) | st.from_regex(r"[a-z/.:-]{0,12}\.py(::)?[a-z]*", fullmatch=True))
def test_any_name_selects_claims_or_is_a_sentence(name):
    study = dice()
    try:
        assert set(select([study], [name])) <= {(study, claim) for claim in study.claims}
    except LabError as error:
        assert len(str(error).splitlines()) == 1


def test_an_ambiguous_suffix_lists_its_meanings(run, monkeypatch):
    other = dice()
    other.name = "more"
    claim = other.claims[0]
    object.__setattr__(claim, "id", "more/mean-3.5")
    other._claims = {claim.id: claim}
    use(monkeypatch, dice(), other)
    code, _, err = run("show", "mean-3.5")
    assert code == 2
    assert "dice/mean-3.5, more/mean-3.5" in err


def test_an_unusable_store_is_two_and_a_sentence(run, monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for home, reason in ((file, "is a file"), (file / "below", "Not a directory")):
        monkeypatch.setenv("MINICOSM_HOME", str(home))
        for command in (["check"], ["show", "loaded"], ["report"]):
            code, _, err = run(*command)
            assert code == 2
            assert reason in err and len(err.splitlines()) == 1


def test_json_is_one_strict_document_on_standard_output(run):
    def strict(constant):
        raise AssertionError(f"{constant} is not JSON")

    def parse(out):
        return json.loads(out, parse_constant=strict)

    (study,) = parse(run("list", "--json")[1])
    assert [claim["id"] for claim in study["claims"]] == ["dice/mean-3.5", "dice/loaded"]
    assert parse(run("show", "loaded", "--json")[1])["last"] is None
    code, out, _ = run("check", "dice", "--json", "--profile", "smoke")
    mean, loaded = parse(out)
    assert (code, mean["verdict"], loaded["verdict"]) == (0, "holds", "fails")
    assert mean["numbers"]["odd"] == "NaN"
    assert set(mean["numbers"]["mean [of rolls]"]) == {"value", "low", "high", "count"}
    shown = parse(run("show", "loaded", "--json", "--profile", "smoke")[1])
    assert shown["last"]["verdict"] == "fails" and shown["last"]["code_is_current"]


def test_show_tells_everything_about_a_claim(run):
    assert "Not checked yet" in run("show", "loaded")[1]
    run("check", "loaded", "--profile", "smoke")
    code, out, _ = run("show", "loaded", "--profile", "smoke")
    assert code == 0
    for text in (
        "On Dice",
        "Decided by",
        "Erratum (gap): They are not.",
        "dice/mean-3.5",
        "rolls: 150",
    ):
        assert text in out
    assert "minicosm check dice/loaded --profile smoke --seed 0" in out


def test_options_go_to_the_claims_that_have_them_and_stay_with_their_verdicts(run, tmp_path):
    shown = run("show", "loaded")[1]
    assert "sides: whole numbers separated by commas (default: 6)" in shown
    assert "Options" not in run("show", "mean-3.5")[1]
    words = ["check", "--set", "sides=4,8,20", "dice", "--profile", "smoke"]
    code, out, _ = run(*words)
    assert code == 0 and out.count("with sides=4,8,20") == 1
    assert max(map(len, out.splitlines())) <= 80
    mean, loaded = json.loads(run(*words, "--json")[1])
    assert mean["options"] == {} and len(mean["trials"]) == 3
    assert loaded["options"] == {"sides": "4,8,20"} and loaded["numbers"]["trials"] == 6
    shown = run("show", "loaded", "--profile", "smoke")[1]
    assert "It was made with sides=4,8,20." in shown
    assert "check dice/loaded --profile smoke --seed 0 --set sides=4,8,20" in shown
    record = json.loads(run("show", "loaded", "--profile", "smoke", "--json")[1])
    assert record["options"] == {"sides": "6"}
    assert record["last"]["options"] == {"sides": "4,8,20"}
    run("report", "--profile", "smoke")
    assert "with sides=4,8,20" in (tmp_path / "home" / "lab-book" / "dice.html").read_text()
    assert "with" not in run("check", "--profile", "smoke")[1]


OWN = """
from minicosm.lab import Outcome, Study

STUDY = Study("own", "Own", "me", "Mine.")


def trials(profile, seed):
    return {}


for name in ("one", "two"):

    @STUDY.claim(
        id=f"own/{name}", title=name, source="", statement="", criterion="", trials=trials
    )
    def check(results):
        return Outcome("holds", {})
"""


def test_a_study_of_ones_own_is_a_file(run, tmp_path):
    path = tmp_path / "own_study.py"
    path.write_text(OWN)
    code, out, _ = run("check", str(path), "--profile", "smoke")
    assert code == 0 and "own/one" in out and "own/two" in out and "dice" not in out
    code, out, _ = run("show", f"{path}::two", "--profile", "smoke")
    assert f"minicosm check {path}::own/two --profile smoke" in out
    assert "own/one" in run("list", str(path))[1]
    book = tmp_path / "book.html"
    assert run("report", str(path), "--profile", "smoke", "--out", str(book))[0] == 0
    assert "own/one" in book.read_text() and "dice" not in book.read_text()


@pytest.mark.parametrize(
    ("name", "source", "sentence"),
    [
        ("broken_study.py", "import no_such_module", "No module named 'no_such_module'"),
        ("empty_study.py", "", "no variable STUDY"),
        ("ending_study.py", "raise SystemExit(0)", "SystemExit: 0"),
        ("json.py", "", "has the name of another module"),
    ],
)
def test_a_file_without_a_study_is_a_sentence(run, tmp_path, name, source, sentence):
    (tmp_path / name).write_text(source)
    code, _, err = run("check", str(tmp_path / name))
    assert code == 2
    assert sentence in err


def test_a_study_that_ends_the_program_later_is_a_sentence(run, monkeypatch):
    def ends(*_):
        raise SystemExit(0)

    monkeypatch.setattr("minicosm.lab.audit.audit", ends)
    code, _, err = run("audit", "--profile", "smoke")
    assert code == 2
    assert "ended the program by SystemExit: 0" in err


def test_help_of_what_is_no_command_is_help(run):
    code, _, _ = run("foo", "--help")
    assert code in (0, 2)


def test_an_audit_prints_what_turned_each_verdict_and_what_it_found(run):
    run("check", "--profile", "smoke")
    code, out, _ = run("audit", "--profile", "smoke")
    assert code == 1
    assert max(map(len, out.splitlines())) <= 80
    assert "dice/mean-3.5: cannot fail: no corruption turns its verdict" in out
    code, out, _ = run("audit", "--profile", "smoke", "--json")
    assert {item["claim"] for item in json.loads(out)} == {"dice/mean-3.5", "dice/loaded"}


def test_report_prints_where_the_book_is(run, tmp_path):
    run("check", "--profile", "smoke")
    code, out, _ = run("report", "--profile", "smoke")
    assert code == 0
    assert out.strip() == str(tmp_path / "home" / "lab-book" / "index.html")
    assert "Rolls average 3.5" in (tmp_path / "home" / "lab-book" / "dice.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["list"],
        ["show"],
        ["check"],
        ["audit"],
        ["report"],
        ["sample"],
        ["sample", "hmm"],
        ["sample", "dyck"],
        ["sample", "complete-dyck"],
        ["sample", "ising"],
        ["sample", "fertility"],
        ["sample", "automaton"],
        ["sample", "gaussian-hmm"],
        ["sample", "parity"],
        ["sample", "grammar"],
        ["sample", "topics"],
        ["sample", "lda"],
        ["sample", "guided"],
        ["sample", "diffusion"],
        ["reproduce"],
        ["keep"],
    ],
)
def test_every_help_ends_with_an_example(run, words):
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert out.splitlines()[-1].startswith(f"example: minicosm {' '.join(words)}".rstrip())


def test_the_example_of_documents_with_exact_laws_can_be_given(run, tmp_path):
    """Laws of documents of many topics are refused: the example must not be one of them."""
    words = EXAMPLES["sample lda"].replace("documents.parquet", str(tmp_path / "d.npz")).split()[1:]
    assert run(*words, "--count", "2")[0] == 0
    with np.load(tmp_path / "d.npz") as file:
        laws = file["masked_laws"].reshape(2, 64, 50)
    np.testing.assert_allclose(laws.sum(axis=2), 1, rtol=1e-6)


def test_sampled_corpora_hold_sequences_of_the_world_in_their_metadata(run, tmp_path):
    path = tmp_path / "corpus.parquet"
    sizes = ["--hidden", "3", "--vocab", "5", "--length", "7", "--count", "11"]
    assert run("sample", "hmm", *sizes, "--out", str(path))[0] == 0
    tokens, hidden, metadata = read(path)
    assert tokens.shape == (11, 7) and hidden.shape == (11, 8)
    assert tokens.min() >= 0 and tokens.max() < 5
    W = np.array(metadata["parameters"]["W"])
    A = np.array(metadata["parameters"]["A"])
    assert (W[tokens, hidden[:, 1:]] > 0).all()  # every token and move is possible
    assert (A[hidden[:, 1:], hidden[:, :-1]] > 0).all()
    assert run("sample", "hmm", *sizes[:-1], "4", "--out", str(path))[0] == 0
    np.testing.assert_array_equal(read(path)[0], tokens[:4])  # a shorter corpus is a prefix


def read(path):
    table = pq.read_table(path)
    tokens, hidden = (np.array(table[name].to_pylist()) for name in ("tokens", "hidden"))
    return tokens, hidden, json.loads(table.schema.metadata[b"minicosm"])


def test_a_memory_world_has_its_memory_beside_its_tokens(run, tmp_path):
    path = tmp_path / "corpus.npz"
    words = ["--cells", "2", "--memory", "3", "--length", "6", "--count", "5", "--out", str(path)]
    assert run("sample", "memory-hmm", *words)[0] == 0
    with np.load(path, allow_pickle=False) as file:
        assert file["tokens"].shape == (5, 6)
        assert file["memory"].shape == (5, 2)
        assert file["memory"].max() < 3


def test_exact_laws_are_written_beside_the_tokens(run, tmp_path):
    """Against the worlds themselves; and a token that was drawn is never impossible."""
    path = tmp_path / "corpus.npz"
    assert run("sample", "dyck", "--length", "9", "--count", "4", "--laws", "next",
               "--out", str(path))[0] == 0  # fmt: skip
    with np.load(path, allow_pickle=False) as file:
        tokens, laws = file["tokens"], file["next_laws"].reshape(4, 9, 4)
    world = Dyck(2, 4)
    np.testing.assert_allclose(laws[2], np.exp(world.next_logits(tokens[2])), rtol=1e-5)
    after = np.take_along_axis(laws[:, :-1], tokens[:, 1:, None], axis=2)
    assert (after > 0).all()
    assert run("sample", "ising", "--spins", "3", "--count", "4", "--laws", "masked",
               "--out", str(path))[0] == 0  # fmt: skip
    with np.load(path, allow_pickle=False) as file:
        spins, laws = file["tokens"], file["masked_laws"].reshape(4, 3, 2)
    up = 1 / (1 + np.exp(-2 * 0.2 * ((2 * spins - 1).sum(1, keepdims=True) - (2 * spins - 1))))
    np.testing.assert_allclose(
        laws[..., 1], up, rtol=1e-9
    )  # one spin given the others, closed form


def test_laws_that_need_much_memory_are_computed_for_few_sequences_at_a_time(
    run, tmp_path, monkeypatch
):
    """An LDA document of 6 words has a lattice of 7^4 points for every word; what is written is the same."""
    from minicosm.corpora import corpus

    def columns():
        path = tmp_path / "corpus.npz"
        words = ["--length", "6", "--count", "9", "--laws", "masked", "--out", str(path)]
        assert run("sample", "lda", *words)[0] == 0
        with np.load(path, allow_pickle=False) as file:
            return file["tokens"], file["masked_laws"]

    sizes = []
    compiled = corpus.bounded

    def noted(*words):
        program, size = compiled(*words)
        sizes.append((size, program.memory_analysis().temp_size_in_bytes))
        return program, size

    monkeypatch.setattr(corpus, "bounded", noted)
    tokens, laws = columns()
    monkeypatch.setattr(corpus, "MEMORY", sizes[0][1] // 2)
    again, same = columns()
    assert sizes[0][0] == 9 and sizes[1][0] <= 4 and sizes[1][1] < sizes[0][1]
    np.testing.assert_array_equal(tokens, again)
    np.testing.assert_allclose(laws, same, rtol=1e-4)
    monkeypatch.setattr(corpus, "MEMORY", 2**10)
    monkeypatch.setattr(corpus, "MOST_MEMORY", 2**10)
    path = tmp_path / "none.npz"
    code, _, err = run("sample", "lda", "--length", "6", "--laws", "masked", "--out", str(path))
    assert code == 2 and "laws is masked; one sequence with them needs" in err
    assert not path.exists()


@pytest.mark.parametrize("world, column", [("complete-dyck", "depths"), ("fertility", "source")])
def test_worlds_of_brackets_and_of_pairs_have_their_columns(run, tmp_path, world, column):
    path = tmp_path / "corpus.parquet"
    assert run("sample", world, "--count", "3", "--out", str(path))[0] == 0
    assert column in pq.read_table(path).column_names


def test_sampled_states_are_those_of_the_table_in_the_metadata(run, tmp_path):
    path = tmp_path / "corpus.parquet"
    words = ["--family", "gridworld", "--size", "5", "--length", "9", "--count", "6"]
    assert run("sample", "automaton", *words, "--out", str(path))[0] == 0
    table = pq.read_table(path)
    tokens, states = (np.array(table[name].to_pylist()) for name in ("tokens", "states"))
    parameters = json.loads(table.schema.metadata[b"minicosm"])["parameters"]
    delta, now = np.array(parameters["delta"]), np.full(6, parameters["start"])
    for t in range(9):
        now = delta[tokens[:, t], now]
        np.testing.assert_array_equal(states[:, t], now)


def test_latent_columns_belong_to_the_tokens_beside_them(run, tmp_path):
    def columns(*words):
        path = tmp_path / "corpus.npz"
        assert run("sample", *words, "--count", "9", "--out", str(path))[0] == 0
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    parity = columns("parity", "--bits", "6", "--support", "2")
    np.testing.assert_array_equal(parity["label"], parity["tokens"][:, :2].sum(1) % 2)
    topics = columns("topics", "--topics", "4", "--words", "3", "--length", "7")
    allowed = np.take_along_axis(topics["mixture"], topics["tokens"] // 3, axis=1)
    assert (allowed == 0.5).all()
    needle = columns("guided", "--family", "some-zero", "--length", "3")
    np.testing.assert_array_equal(needle["tilt"], (needle["tokens"] == 0).any(1))


def test_an_impossible_world_is_a_sentence(run, tmp_path):
    code, _, err = run("sample", "hmm", "--hidden", "0", "--out", str(tmp_path / "c.npz"))
    assert code == 2
    assert "hidden is 0" in err


def test_the_command_line_loads_nothing_heavy():
    heavy = ["jax", "numpy", "scipy", "matplotlib", "pyarrow", "jinja2", "ray"]
    code = f"import sys, minicosm.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [["list", "nce"], ["show", "nce/lemma-44"]])
def test_a_reader_that_has_seen_enough_ends_the_command_in_silence(words):
    """As `head` does; rich ends the program then."""
    command = subprocess.Popen(
        [sys.executable, "-m", "minicosm", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    command.stdout.close()
    said = command.stderr.read()
    assert (command.wait(), said) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_standard_output_is_a_sentence():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "minicosm", "list", "nce"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "minicosm: cannot write to standard output: No space left on device.\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_the_shell_completes_commands_options_worlds_and_ids(run):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    code, script, _ = run("completion", "bash")
    assert code == 0

    def completed(*words):
        said = (
            f'{script}\n_minicosm_ids="tuning tuning/theorem-3.3 dyck/pumping"\n'
            f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _minicosm\n"
            'echo "${COMPREPLY[@]}"'
        )
        return subprocess.run([bash, "-c", said], capture_output=True, text=True).stdout.split()

    assert completed("minicosm", "re") == ["report", "reproduce"]
    assert completed("minicosm", "show", "tuning/") == ["tuning/theorem-3.3"]
    assert completed("minicosm", "check", "--pro") == ["--profile"]
    assert completed("minicosm", "check", "--profile", "sm") == ["smoke"]
    assert completed("minicosm", "sample", "gram") == ["grammar"]
    assert "bashcompinit" in run("completion", "zsh")[1]
