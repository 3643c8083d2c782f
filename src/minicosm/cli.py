"""The command line: `minicosm tour | explore | list | show | check | audit | report | sample | reproduce |
keep | completion`.

Exit code 0: all requested claims came out as registered; 1: one did not, or an audit found something;
2: bad input; 3: a trial, a check or a figure raised, an error of the program; 130: interrupted.
Every command imports what it needs when it runs, so that `list` is immediate.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

import tyro
from tyro.conf import Positional, UseAppendAction, arg, subcommand

from minicosm import __version__
from minicosm.arguments import Json, Profile, Studies
from minicosm.compiling import prepare
from minicosm.corpora import Sample, require_seed
from minicosm.explorer.command import Explore
from minicosm.lab.claims import PROFILES, LabError
from minicosm.lab.executors import ExecutorName
from minicosm.publishing import Keep, Report, Reproduce, Tour


@dataclass
class List:
    """List the studies and their claims, with the registered verdict of each, and what raised."""

    studies: Studies = ()
    ids: Annotated[bool, arg(help="Print ids only, one a line.")] = False
    json: Json = False

    def run(self) -> int:
        from minicosm.lab.catalogue import print_list, select_studies
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        if self.ids:
            for study in select_studies(STUDIES, self.studies):
                print(study.name, *(claim.id for claim in study.claims), sep="\n")
            return 0
        print_list(select_studies(STUDIES, self.studies), self.json, Store(home()).errors())
        return 0


@dataclass
class Show:
    """Show a claim: what it says, what decides it, its options, its last verdict, how to rerun it."""

    claim: Annotated[Positional[str], arg(help="Its id, or the end of its id if that is unique.")]
    profile: Profile = "laptop"
    json: Json = False

    def run(self) -> int:
        from minicosm.lab.catalogue import print_claim, select
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        selection = select(STUDIES, [self.claim])
        if len(selection) != 1:
            raise LabError(f"{self.claim!r} is a study of {len(selection)} claims; name one.")
        print_claim(Store(home()), *selection[0], self.profile, self.json)
        return 0


@dataclass
class Check:
    """Run the trials that the claims need, judge the claims, and compare with what is registered.

    Finished trials are kept in $MINICOSM_HOME (default: .minicosm in the current folder); the
    same command continues where an interrupted one stopped.
    """

    names: Annotated[
        Positional[tuple[str, ...]],
        arg(
            help="Studies, claims, or a study of your own as FILE.py or FILE.py::CLAIM. "
            "Without any: everything.",
            metavar="[STUDY or CLAIM ...]",
        ),
    ] = ()
    profile: Profile = "laptop"
    jobs: Annotated[
        int | None,
        arg(help="Trials at once. Without it: one, or all that the cluster admits with ray."),
    ] = None
    seed: Annotated[int, arg(help="Seed of all randomness.")] = 0
    executor: Annotated[
        ExecutorName, arg(help="Where trials run: on this machine or on a Ray cluster.")
    ] = "local"
    force: Annotated[bool, arg(help="Run stored trials again.")] = False
    set: Annotated[
        UseAppendAction[tuple[str, ...]],
        arg(
            help="Set an option of the claims that have it, such as sizes=4,15,30; "
            "`minicosm show CLAIM` lists them.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    all: Annotated[
        bool, arg(help="List all claims, not only those that came out otherwise than registered.")
    ] = False
    json: Json = False
    debug: Annotated[bool, arg(help="Print the traceback of what raised.")] = False

    def run(self) -> int:
        from rich.console import Console

        from minicosm.lab.catalogue import print_json, select
        from minicosm.lab.display import Display, print_verdicts
        from minicosm.lab.options import split
        from minicosm.lab.run import check
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        require_seed(self.seed)
        store = Store(home())
        prepare(
            store, self.profile
        )  # before a study file of the user's is read, which may import JAX
        selection = select(STUDIES, self.names)
        try:
            checked = check(
                selection,
                self.profile,
                self.seed,
                store,
                jobs=self.jobs,
                executor=self.executor,
                display=Display(),
                force=self.force,
                options=split(self.set),
            )
        except KeyboardInterrupt:
            _say(f"stopped; finished trials are kept in {store.path}; the same command continues.")
            return 130
        if self.json:
            print_json([item.record() for item in checked])
        else:
            print_verdicts(Console(highlight=False), checked, self.all)
        if self.debug or os.environ.get("MINICOSM_DEBUG"):
            for item in checked:
                if item.error is not None and item.error.trace:
                    print(f"\n{item.claim.id}\n{item.error.trace}", file=sys.stderr)
        if any(item.error is not None for item in checked):
            return 3
        return 0 if all(item.as_registered for item in checked) else 1


@dataclass
class Audit:
    """Corrupt stored results entry by entry and see which corruptions turn the verdict of each claim.

    A claim that no corruption turns cannot fail; one that stands although a number that decides it is
    NaN, or although all it reads is NaN or gone, says nothing. Run `minicosm check` first.
    """

    names: Annotated[
        Positional[tuple[str, ...]],
        arg(help="Studies or claims. Without any: everything.", metavar="[STUDY or CLAIM ...]"),
    ] = ()
    profile: Profile = "laptop"
    seed: Annotated[int, arg(help="Seed of the results.")] = 0
    json: Json = False

    def run(self) -> int:
        from rich.console import Console

        from minicosm.lab.audit import audit
        from minicosm.lab.catalogue import print_json, select
        from minicosm.lab.display import print_audit
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        require_seed(self.seed)
        audited = audit(select(STUDIES, self.names), self.profile, self.seed, Store(home()))
        if self.json:
            print_json([item.record() for item in audited])
        else:
            print_audit(Console(highlight=False), audited)
        return 1 if any(item.findings for item in audited) else 0


@dataclass
class Completion:
    """Print what makes the shell complete commands, their options and ids of claims."""

    shell: Annotated[Positional[Literal["bash", "zsh"]], arg(help="The shell.")]

    def run(self) -> int:
        commands = {words.split(" ")[0]: "" for words in EXAMPLES if words}
        for part in get_args(Command):
            kind, settings = get_args(part)
            names = [field.name.replace("_", "-") for field in fields(kind)]
            commands[settings.name] = " ".join(f"--{name}" for name in names if name not in WORDS)
        worlds = " ".join(words.split(" ")[1] for words in EXAMPLES if words.startswith("sample "))
        options = "\n".join(f'      {name}) words="{all}";;' for name, all in commands.items())
        zsh = "autoload -U +X bashcompinit && bashcompinit\n" if self.shell == "zsh" else ""
        print(
            f"""{zsh}_minicosm() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(commands)}"
  elif [ "${{COMP_WORDS[COMP_CWORD-1]}}" = --profile ]; then
    words="{" ".join(PROFILES)}"
  elif [[ "$word" = -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{options}
    esac
  elif [ "${{COMP_WORDS[1]}}" = sample ]; then
    words="{worlds}"
  else
    : "${{_minicosm_ids:=$("${{COMP_WORDS[0]}}" list --ids 2>/dev/null)}}"
    words="$_minicosm_ids"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _minicosm minicosm"""
        )
        return 0


WORDS = ("names", "studies", "claim", "shell", "world")
"""Fields that are given as words, not as options."""

Command = (
    Annotated[Tour, subcommand("tour")]
    | Annotated[Explore, subcommand("explore")]
    | Annotated[List, subcommand("list")]
    | Annotated[Show, subcommand("show")]
    | Annotated[Check, subcommand("check")]
    | Annotated[Audit, subcommand("audit")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Sample, subcommand("sample")]
    | Annotated[Reproduce, subcommand("reproduce")]
    | Annotated[Keep, subcommand("keep")]
    | Annotated[Completion, subcommand("completion")]
)

EXAMPLES = {
    "": "minicosm check --profile smoke && minicosm report --profile smoke --open",
    "tour": "minicosm tour --open",
    "explore": "minicosm explore --port 8000",
    "list": "minicosm list tuning",
    "show": "minicosm show tuning/theorem-3.3",
    "check": "minicosm check hot_worlds.py --profile smoke --set worlds=3 --set length=32\n"
    "minicosm check tuning --profile laptop --jobs 2",
    "audit": "minicosm audit tuning --profile smoke",
    "report": "minicosm report --profile laptop --open",
    "reproduce": "minicosm reproduce tuning/theorem-3.3 --jobs 2",
    "keep": "minicosm keep dyck",
    "completion": "minicosm completion bash >> ~/.bashrc",
    "sample": "minicosm sample hmm --hidden 8 --vocab 10 --count 1000 --out corpus.parquet",
    "sample hmm": "minicosm sample hmm --hidden 8 --vocab 10 --length 128 --count 1000 "
    "--seed 0 --out corpus.parquet",
    "sample dyck": "minicosm sample dyck --types 2 --depth 4 --laws next --out brackets.parquet",
    "sample complete-dyck": "minicosm sample complete-dyck --length 32 --out balanced.parquet",
    "sample ising": "minicosm sample ising --spins 8 --coupling 0.3 --out spins.npz",
    "sample fertility": "minicosm sample fertility --swap 0.2 --out pairs.jsonl",
    "sample automaton": "minicosm sample automaton --family dihedral --size 4 --out car.parquet",
    "sample flip-flop": "minicosm sample flip-flop --length 128 --p-ignore 0.8 --out flips.parquet",
    "sample gaussian-hmm": "minicosm sample gaussian-hmm --hidden 3 --length 64 --out vectors.parquet",
    "sample parity": "minicosm sample parity --bits 20 --support 3 --out bits.parquet",
    "sample grammar": "minicosm sample grammar --name cfg3b --laws masked --out sentences.parquet",
    "sample topics": "minicosm sample topics --topics 10 --per-document 2 --out documents.parquet",
    "sample lda": "minicosm sample lda --topics 3 --vocab 50 --laws masked --out documents.parquet",
    "sample guided": "minicosm sample guided --family noisy-dyck --length 12 --out strings.parquet",
    "sample diffusion": "minicosm sample diffusion --gap 0.1 --out paths.parquet",
    "sample memory-hmm": "minicosm sample memory-hmm --hidden 4 --memory 3 --cells 2 "
    "--out corpus.jsonl",
}


def main(argv: list[str] | None = None) -> None:
    """Entry point of the command `minicosm`; always ends by `SystemExit`."""
    words = sys.argv[1:] if argv is None else argv
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)  # as Ctrl-C: nothing is lost, workers end
    try:
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except LabError as error:
        _say(str(error))
        code = 2
    except KeyboardInterrupt:
        _say("stopped.")
        code = 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _say(f"cannot write {error.filename or 'to standard output'}: {error.strerror}.")
        code = 2
    raise SystemExit(code)


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"minicosm {__version__}")
        return 0
    try:
        command: Any = tyro.cli(
            Command,
            prog="minicosm",
            description="Small worlds in which everything about language is known exactly, "
            "and the claims about them that run.",
            args=words or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
        )
    except SystemExit as stop:
        if stop.code in (0, None):
            chosen = " ".join(word for word in words[:2] if not word.startswith("-"))
            examples = EXAMPLES.get(chosen) or EXAMPLES.get(chosen.split(" ")[0], EXAMPLES[""])
            for example in examples.splitlines():
                print(f"example: {example}")
        raise
    try:
        return command.run()
    except SystemExit as end:  # no command of ours does; whatever its code, nothing was decided
        if isinstance(end.__context__, BrokenPipeError):  # rich ends the program then
            raise end.__context__ from None
        reason = f": {end.code}" if end.code is not None else ""
        raise LabError(f"the code of a study ended the program by SystemExit{reason}.") from end


def _terminated(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _say(sentence: str) -> None:
    print(f"minicosm: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    main()
