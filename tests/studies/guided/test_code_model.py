"""The code task with a tiny random Llama and a tokenizer of letters: the machinery, not the numbers."""

import json

import numpy as np
import pytest

from minicosm.lab import TrialResult, silent
from minicosm.studies.guided.experiments import code_model, code_texts
from minicosm.studies.guided.trials import CodeTask
from minicosm.studies.guided.trials import code_model as plan

RIGHT = "assert abc([1, 2], 3) == [1, 2, 3]"


def test_the_paper_sizes():
    task = CodeTask()
    assert (task.names, task.texts, task.seeds, task.new_tokens, task.layer) == (10, 10, 5, 384, 27)
    arm = code_model.ARMS["guided .95"]
    assert (arm.quota, arm.stride, arm.threshold, arm.top_p) == (4, 4, 0.1, 0.95)
    assert arm.once_per_prefix and code_texts.LINES == 8
    with pytest.raises(ValueError, match="there is no arm 'beam'; it must be one of baseline"):
        plan("paper", 0, model="any", arms=("beam",))


def test_prompts_and_names():
    names = code_texts.names(200, 0)
    assert len(set(names)) == 200 and all(len(name) == 3 for name in names)
    assert not {"for", "max", "sum", "def"} & set(names)
    text = code_texts.prompt("abc")
    shown = [line for line in text.split("\n") if line.startswith("assert")]
    assert len(shown) == 8 and text.count("abc") == 2 and text.endswith("one per line:\n")
    space: dict = {}
    exec(code_texts.definition("abc") + "\n".join(["def f(a, b): return a + b", *shown]), space)
    assert space["abc"]([1], 2) == [1, 2]


def test_lines_are_judged():
    assert code_texts.correct("abc", RIGHT)
    for wrong in (
        "assert abc([1, 2], 3) == [3, 1, 2]",
        "assert xyz([1, 2], 3) == [1, 2, 3]",
        "assert abc([1, 2], 3) == [1, 2, 3], 4",
        "assert abc((1, 2), 3) == (1, 2, 3)",
        "assert abc([1, 2], 3) == __import__('os')",
        "abc([1, 2], 3) == [1, 2, 3]",
    ):
        assert not code_texts.correct("abc", wrong)
    again = "assert abc([1,2],3)==[1,2,3]"
    other = "assert abc([], 3) == [3]"
    wrong = "assert abc([], 3) == [4]"
    text = "\n".join([RIGHT, "", again, other, wrong] + [RIGHT] * 4 + ["assert abc([], 9) == [9]"])
    assert len(code_texts.distinct("abc", [text, other])) == 2  # the ninth line does not count


def test_where_a_completion_stops_being_right():
    """The first letter after which no correct line is possible; blanks do not matter."""
    for line, right in (
        (RIGHT, RIGHT),
        ("assert  abc( [1,2],3 )==[1, 2,3]", "assert  abc( [1,2],3 )==[1, 2,3]"),
        ("assert abd([1], 2) == [1, 2]", "assert ab"),
        ("assert abc([1], 2) == [2, 1]", "assert abc([1], 2) == ["),
        ("assert abc([1], 2, 3) == [1]", "assert abc([1], 2, 3) ="),
        ("print(1)", ""),
        ("assert abc(['a'], 'b') == [\"a\", \"c\"]", "assert abc(['a'], 'b') == [\"a\", \""),
    ):
        good = [code_texts.viable("abc", line[:n]) for n in range(1, len(line) + 1)]
        assert line[: good.index(False) if False in good else len(line)] == right
    assert code_texts.viable("abc", f"{RIGHT}\n\n{RIGHT}\n")
    assert not code_texts.viable("abc", "assert abc([1], 2) == [1,\n")
    assert code_texts.viable("abc", f"{RIGHT}\n" * 8 + "def more")  # extra content is no error
    assert not code_texts.viable("abc", f"{RIGHT}\n" * 7 + "def more")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model and its tokenizer on disk."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import tokenizers

    letters = sorted(set(code_texts.prompt("abcdefghijklmnopqrstuvwxyz") + "0'"))
    vocab = {letter: i + 1 for i, letter in enumerate(letters)} | {"</s>": 0}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token="</s>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("[\\s\\S]"), "isolated")
    core.decoder = tokenizers.decoders.Fuse()
    path = tmp_path_factory.mktemp("llama")
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>").save_pretrained(
        path
    )
    torch.manual_seed(0)
    torch.set_num_threads(1)  # of a tiny model threads only wait for each other
    config = transformers.LlamaConfig(
        vocab_size=len(vocab), hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=640,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


def test_end_to_end(folder, tmp_path):
    sizes = {"names": 2, "texts": 1, "seeds": 2, "new_tokens": 4, "training_names": 24}
    task = CodeTask(
        model=str(folder), dtype="float32", layer=1, training_texts=1,
        arms=("baseline .95", "guided .95, threshold .5"), **sizes,
    )  # fmt: skip
    found = code_model.run(task, silent, tmp_path).numbers
    for arm in task.arms:
        columns = found["arms"][arm]
        assert columns["accuracy"] == [0, 0] and len(columns["calls"]) == 2
    plain, guided = (found["arms"][arm] for arm in task.arms)
    assert all(calls <= 8 for calls in plain["calls"]) and sum(guided["verifier_calls"]) > 0
    assert sum(guided["backtracks"]) > 0 and max(guided["calls"]) > max(plain["calls"])
    kept = np.load(tmp_path / "verifiers.npz")
    assert kept["arr_0"].shape[1] == 16 and set(kept["arr_1"]) == {0, 1}
    # A second run reads what is there.
    kept = tmp_path / "baseline-.95-1.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"accuracy": 0.5}))
    again = code_model.run(task, silent, tmp_path).numbers["arms"]
    assert again["baseline .95"]["accuracy"] == [0, 0.5]
    assert again[task.arms[1]] == guided


def test_claims_of_a_model(folder):
    """Without a model there is nothing to run; with one the sizes are the profile's, or those set."""
    from minicosm.studies.guided.claims import code_model as claims

    assert plan("paper", 0) == {}
    assert claims.backtracking({}).verdict == claims.blocks({}).verdict == "undecided"
    trial = plan("paper", 3, model=str(folder), layer=1)["code"]
    assert trial.config == CodeTask(model=str(folder), layer=1, seed=3)
    arms = {
        "baseline .95": {"accuracy": [0.4, 0.5], "correct": [0.5, 0.5], "calls": [100, 100]},
        "guided .95": {"accuracy": [0.6, 0.7], "correct": [0.5, 0.5], "calls": [110, 110]},
        "block best of 2": {"accuracy": [0.6, 0.7], "correct": [0.5, 0.5], "calls": [220, 220]},
    }
    found = {"code": TrialResult({"arms": arms}, config=trial.config)}
    assert claims.backtracking(found).verdict == "holds"
    arms["guided .95"]["accuracy"] = [0.3, 0.2]
    assert claims.backtracking(found).verdict == "fails"
    assert claims.blocks(found).verdict == "undecided"  # two seeds, wide interval


def test_block_best_of_n_ends_blocks_with_lines(folder):
    task = CodeTask(model=str(folder), dtype="float32", layer=1, names=1, texts=2, new_tokens=12)
    coder = code_model.load(task)
    newline = coder.ids("\n")
    assert len(newline) == 1 and coder.line_ends().tolist() == newline
    text = code_texts.prompt("abc")
    assert coder.added(coder.ids(text), coder.ids(RIGHT)) == RIGHT
    probe = code_model.ProbeVerifier((np.zeros((16, 1)),), (np.zeros(1),))
    verifiers = code_model.Verifiers(None, probe)
    numbers = code_model.run_arm(task, coder, verifiers, "block best of 2", ("abc",), 0)
    assert numbers["calls"] > 24 and numbers["verifier_calls"] >= 4


def test_what_is_missing_is_named(folder, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"the model .*/nothing' cannot be loaded"):
        code_model.load(CodeTask(model=str(tmp_path / "nothing")))
    with pytest.raises(ValueError, match=r"layer is 27; this model has the layers 0\.\.1"):
        code_model.load(CodeTask(model=str(folder), dtype="float32"))
    task = CodeTask(model=str(folder), dtype="float32", layer=1, training_names=1, new_tokens=2)
    with pytest.raises(ValueError, match=r"completions hold 0 right and 10 wrong tokens"):
        code_model.run(task, silent, tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ValueError, match="needs torch and transformers; install them by pip"):
        code_model.load(CodeTask(model="any"))
