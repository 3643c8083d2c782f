"""The lines of the test-case task: computing says of each what running it would."""

import random
import time
import warnings

from minicosm.studies.guided.experiments import code_texts

PLAIN = [
    "0", "-7", "True", "None", "...", "2.5", "-0.0", "1e999", "3j", "0x1F", "1_000", "'a'", '"b"', "'é'",
    r"'\n'", r"r'\d'", r"'\d'", "b'q'", r"'\N{BULLET}'", "'a' 'b'", "[]", "()", "{}",
]  # fmt: skip


def literal(draw: random.Random, depth: int = 0) -> str:
    parts = [literal(draw, depth + 1) for _ in range(draw.randrange(3))] if depth < 2 else []
    form = draw.choice(["[{}]", "({})"]) if parts and draw.random() < 0.4 else ""
    return form.format("".join(f"{part}, " for part in parts)) if form else draw.choice(PLAIN)


def lines(count: int) -> list[str]:
    """Correct ones, with the parts in another order, with a mistake in one place, or spoilt anywhere."""
    draw, result = random.Random(0), []
    for _ in range(count):
        items = [literal(draw) for _ in range(draw.randrange(4))]
        wanted = [*items, literal(draw)]
        kind, end = draw.randrange(5), wanted[-1]
        if kind == 0:
            draw.shuffle(wanted)
        if kind == 1:
            wanted[draw.randrange(len(wanted))] = literal(draw)
        line = f"assert abc([{', '.join(items)}], {end}) == [{', '.join(wanted)}]"
        if kind == 2:
            at = draw.randrange(len(line))
            line = line[:at] + draw.choice("()[],=1 #") + line[at + draw.randrange(2) :]
        result.append(line)
    return result


def runs(line: str) -> bool:
    """Our own lines, of literals and one function, run here; blanks around a line do not count."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code_texts.definition("abc") + line.strip(), {"__builtins__": {}})
    except Exception:
        return False
    return True


def test_computing_a_line_is_running_it():
    """A line that does not run is not correct; one that runs is, if it is a test case at all."""
    every = lines(1752)
    begin = time.process_time()
    found = [code_texts.correct("abc", line) for line in every]
    assert time.process_time() - begin < 5  # a process for each took half a minute
    assert 600 < sum(found) < 1700
    for line, correct in zip(every, found, strict=True):
        assert correct == (runs(line) and code_texts.read("abc", line) is not None), line
    texts = ["\n".join(every[i : i + 8]) for i in range(0, 1752, 8)]
    right = {line for line, correct in zip(every, found, strict=True) if correct}
    assert 100 < len(code_texts.distinct("abc", texts)) <= len(right)


def test_numbers_that_python_does_not_write():
    """Hexadecimal ones may have more digits than Python converts."""
    long = "0x" + "F" * 4500
    line = f"assert abc([{long}], 1) == [{long}, 1]"
    assert code_texts.correct("abc", line) and code_texts.distinct("abc", [line]) == {line}
    assert not code_texts.viable("abc", f"{line}\n")


def test_full_width_letters_are_the_same_name():
    assert code_texts.correct("abc", "assert \uff41bc([1], 2) == [1, 2]")
