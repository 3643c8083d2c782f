"""The commands `minicosm tour`, `report`, `reproduce` and `keep`: the lab book and reference results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from minicosm.arguments import Profile, Studies
from minicosm.compiling import prepare
from minicosm.corpora import require_seed
from minicosm.lab.claims import LabError


@dataclass
class Tour:
    """Show the main findings of every study: the exact ones computed now, the others from full runs.

    It takes a few minutes and ends with the lab book.
    """

    studies: Studies = ()
    jobs: Annotated[int, arg(help="Trials at once.")] = 2
    open: Annotated[bool, arg(help="Open the lab book in the browser.")] = False

    def run(self) -> int:
        from rich.console import Console

        from minicosm.lab.catalogue import select_studies
        from minicosm.lab.display import Display
        from minicosm.lab.reference import Reference
        from minicosm.lab.report import write_report
        from minicosm.lab.store import Store, home
        from minicosm.lab.tour import PROFILE, print_tour, tour
        from minicosm.studies import STUDIES

        store = Store(home())
        prepare(store, PROFILE)
        studies = select_studies(STUDIES, self.studies)
        stops = tour(studies, store, Reference(), self.jobs, Display())
        print_tour(Console(highlight=False), stops)
        page = write_report(store, studies, PROFILE, store.path / "lab-book")
        print(f"The lab book: {page}")
        if self.open:
            _open(page)
        failed = [stop.checked for stop in stops if stop.checked and stop.checked.error]
        return 3 if failed else 0


@dataclass
class Report:
    """Write the lab book: a folder of pages, or one file, with every verdict, its numbers and figure.

    Where nothing was run the reference results of the package stand in, marked.
    """

    studies: Studies = ()
    out: Annotated[
        Path | None,
        arg(help="A folder, or a file that ends in .html. Without it: lab-book in $MINICOSM_HOME."),
    ] = None
    profile: Profile = "laptop"
    open: Annotated[bool, arg(help="Open it in the browser.")] = False

    def run(self) -> int:
        from minicosm.lab.catalogue import select_studies
        from minicosm.lab.report import write_report
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        store = Store(home())
        if self.out == Path():
            raise LabError(
                "out is empty, or this folder; give a folder of its own, or a file.html."
            )
        if self.out is None:
            store.prepare()
        out = self.out or store.path / "lab-book"
        page = write_report(store, select_studies(STUDIES, self.studies), self.profile, out)
        print(page)
        if self.open:
            _open(page)
        return 0


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        raise LabError(f"no browser was found; open {page.resolve()} in one.")


@dataclass
class Reproduce:
    """Run claims again at the size of their reference results and say which numbers agree.

    Estimates agree if they differ by at most the root of the sum of their squared half intervals.
    """

    names: Annotated[
        Positional[tuple[str, ...]], arg(help="Claims or studies.", metavar="CLAIM [CLAIM ...]")
    ]
    jobs: Annotated[int | None, arg(help="Trials at once. Without it: one.")] = None
    seed: Annotated[int | None, arg(help="Another seed than that of the reference results.")] = None

    def run(self) -> int:
        from rich.console import Console

        from minicosm.lab.catalogue import select
        from minicosm.lab.display import Display, print_agreement
        from minicosm.lab.reference import Reference
        from minicosm.lab.reproduce import reproduce
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        if not self.names:
            raise LabError("no claim is given; name claims or studies, such as nce/lemma-44.")
        if self.seed is not None:
            require_seed(self.seed)
        store = Store(home())
        prepare(store, "laptop")
        again = reproduce(
            select(STUDIES, self.names), Reference(), store, self.seed, self.jobs, display=Display()
        )
        return print_agreement(Console(highlight=False), again)


@dataclass
class Keep:
    """Make what is stored of claims their reference results, in the source tree.

    For developers, after a full run at profile laptop. Of every trial what checks and figures read is
    kept, with the commit and the machine. Claims that the store has no verdict of are judged and drawn again
    by the present code from what was kept of them before.
    """

    names: Annotated[
        Positional[tuple[str, ...]],
        arg(help="Studies or claims. Without any: everything.", metavar="[STUDY or CLAIM ...]"),
    ] = ()
    profile: Profile = "laptop"

    def run(self) -> int:
        from minicosm.lab.catalogue import select
        from minicosm.lab.reference import FOLDER, keep
        from minicosm.lab.store import Store, home
        from minicosm.studies import STUDIES

        if self.profile == "smoke":
            raise LabError("reference results are those of full runs; smoke is none.")
        for study, size in keep(select(STUDIES, self.names), self.profile, Store(home())).items():
            print(
                f"{FOLDER / study}: {size.bytes / 1e6:.2f} MB; claims from the store: {size.stored}, "
                f"judged and drawn again from what was kept before: {size.again}"
            )
        print("python docs/tables.py writes the tables of the pages anew.")
        return 0
