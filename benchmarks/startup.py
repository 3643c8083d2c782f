"""How long the package takes to import and the command line to answer: medians of fresh processes.

python benchmarks/startup.py [--runs 7] [--breakdown 12]
"""

import argparse
import statistics
import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

COMMANDS = {
    "python, nothing imported": ["-c", "pass"],
    "import minicosm": ["-c", "import minicosm"],
    "import minicosm.worlds": ["-c", "import minicosm.worlds"],
    "minicosm list": ["-c", "import sys; from minicosm.cli import main; sys.exit(main())", "list"],
}


def run(arguments: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    return time.perf_counter() - start, done


def slowest_imports(arguments: list[str], count: int) -> list[tuple[float, str]]:
    """Modules by the time of their own code, in milliseconds, from `-X importtime`."""
    _, done = run(["-X", "importtime", *arguments])
    rows = []
    for line in done.stderr.splitlines():
        parts = line.removeprefix("import time:").split("|")
        if line.startswith("import time:") and parts[0].strip().isdigit():
            rows.append((int(parts[0]) / 1e3, parts[2].strip()))
    return sorted(rows, reverse=True)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="processes for each line")
    parser.add_argument("--breakdown", type=int, default=8, help="modules shown of `minicosm list`")
    options = parser.parse_args()
    console = Console(width=100)

    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    failed = set()
    for turn in range(options.runs + 1):
        for name, arguments in COMMANDS.items():
            taken, done = run(arguments)
            if turn > 0:  # the first turn writes the byte code
                times[name].append(taken)
            if done.returncode:
                failed.add(name)
    table = Table(title=f"seconds from start to exit, {options.runs} fresh processes each")
    for column in ("", "best", "median"):
        table.add_column(column, justify="left" if not column else "right")
    for name, each in times.items():
        note = " (failed)" if name in failed else ""
        table.add_row(name + note, f"{min(each):.2f}", f"{statistics.median(each):.2f}")
    console.print(table)

    table = Table(title="minicosm list: the slowest imports, own time")
    table.add_column("module")
    table.add_column("ms", justify="right")
    for milliseconds, module in slowest_imports(COMMANDS["minicosm list"], options.breakdown):
        table.add_row(module, f"{milliseconds:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
