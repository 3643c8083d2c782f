"""The command `minicosm explore`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from minicosm.compiling import prepare


@dataclass
class Explore:
    """Open the explorer in the browser: worlds to edit, brackets to type, samplers to watch.

    It needs marimo (pip install 'minicosm[explore]') and serves this machine only. Ctrl-C ends it.
    """

    port: Annotated[int, arg(help="The port of the page; 0 for any that is free.")] = 2718
    headless: Annotated[bool, arg(help="Do not open the browser.")] = False

    def run(self) -> int:
        from minicosm.explorer.server import check_installed, listen, serve
        from minicosm.lab import Store, home

        check_installed()
        bound = listen(self.port)
        prepare(Store(home()), "smoke")  # programs are small: compiling is what takes time
        serve(bound, open_browser=not self.headless)
