"""Every example runs, is short, and prints what it shows."""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
SHOWN = {
    "posterior_of_an_hmm": "log probability of the four that are seen",
    "pretrain_save_compare": "nats above the best possible loss",
    "tune_head_and_prompt": "behind a tuned prompt",
    "theorem_and_broken_assumption": "does not apply: W has rank 4 and 8 columns",
    "guided_sampling": "VGB          balanced 1.00",
    "hugging_face": "[[",
    "ising_block_dynamics": "blocks of 5: Poincaré constant   1.00, 1 steps",
    "dyck_transformer": "Theorem 2.2.1, sufficiency holds",
    "shortcuts_to_automata": "Theorem 11 does not apply: A_5 (order 60) is perfect",
    "flip_flop_memory": "T 68: 1 of 1 read wrong",
    "progressive_distillation": "student of one checkpoint: 90% after",
    "contrastive_kernel": "q = N(6, 1): 344.1 times maximum likelihood",
    "twin_worlds": "Gaussian emissions, x1,x3|x2: 2 world(s)",
    "topics_in_one_layer": "Recovery(share=1.0, rand=1.0)",
    "nce_landscape": "gradient descent: 39",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_shows(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 30 and ast.get_docstring(ast.parse(path.read_text()))
    assert path.stem in {*SHOWN, "pretrained_topics"}, "no test runs it"  # that one: tests/text


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs(name, capsys, tmp_path, monkeypatch):
    if name == "hugging_face":
        pytest.importorskip("transformers")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    runpy.run_path(str(EXAMPLES[0].parent / f"{name}.py"), run_name="__main__")
    assert SHOWN[name] in capsys.readouterr().out
