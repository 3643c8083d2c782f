"""`python tests/hostile/tally.py [modules]`: all hostile calls of all tables, counted by what came back.

Every table is swept in a process of its own, one after the other. What must be mended is printed, and the
exit code is 1 if there is anything.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hostile_tables as tables

MEANING = {
    "sentence": "one clear sentence",
    "accepted": "accepted, and meant something",
    "silent": "accepted in silence",
    "accident": "an accidental TypeError or ValueError",
    "inside": "a traceback from inside a library",
    "foreign": "other exceptions",
    "nan": "NaN, or another answer than for the same numbers",
    "hang": "hang",
}


def count(name: str) -> dict[str, object]:
    """What came back from all calls of one table, and what must be mended."""
    import jax

    import hostile

    jax.config.update("jax_disable_most_optimizations", True)
    os.chdir(tempfile.mkdtemp())
    tally: Counter[str] = Counter()
    faults = []
    calls = tables.table(name)
    module = sys.modules[name]
    if hasattr(module, "with_files"):
        module.with_files(Path.cwd())
    for call in calls:
        for finding in hostile.sweep(call):
            fine = finding.what == "sentence" or hostile.is_meant(
                finding, call.arguments[finding.argument]
            )
            silent = finding.what == "accepted" and not fine
            what = "accepted" if finding.what == "nan" and fine else finding.what
            tally["silent" if silent else what] += 1
            if not fine:
                faults.append(str(finding))
    return {"tally": tally, "faults": faults}


def in_a_process(name: str) -> tuple[str, dict | None]:
    done = subprocess.run(
        [sys.executable, __file__, "--one", name], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return name, None
    return name, json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(count(sys.argv[2])))
        return 0
    names = sys.argv[1:] or tables.names()
    found = dict(map(in_a_process, names))
    short = [name.removeprefix("test_hostile_") for name in names]
    print(f"| what came back | {' | '.join(short)} | calls |")
    print(f"|---|{'---|' * (len(names) + 1)}")
    counts = {name: Counter(one["tally"]) if one else Counter() for name, one in found.items()}
    for kind, meaning in MEANING.items():
        each = [counts[name][kind] for name in names]
        print(f"| {meaning} | {' | '.join(map(str, each))} | {sum(each)} |")
    every = [sum(counts[name].values()) for name in names]
    print(f"| all | {' | '.join(map(str, every))} | {sum(every)} |")
    faults = [line for one in found.values() if one for line in one["faults"]]
    print("\n".join(faults))
    return int(bool(faults) or None in found.values())


if __name__ == "__main__":
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
    sys.exit(main())
