"""How long `minicosm explore` takes to open, and each of its tabs to react, in headless Chromium.

Needs the extra `explore` and Chromium. Opening is from the start of the command, with an empty store, to the
first tab with all that it shows; Chromium runs by then and has never seen the page. A reaction is from a
change of a widget until all that it changes is drawn: the first one, as soon as the page is there, and the
median of five in every tab, with the time of the processor that the server and its processes have used.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "explorer"))

import psutil  # marimo brings it
from browser import Browser
from test_explorer_in_chromium import CHOOSE, DEEP, SHOWS, SLIDE, TABS, TYPE, shows

IDLE = 10  # seconds in which what every tab needs is compiled
QUIET = 1.5  # seconds without a change, after which all is drawn

# When figures and tables were last drawn; colours that marimo changes while a cell waits do not count.
WATCH = """(() => { const begun = performance.now(); window.took = null; window.watch?.disconnect();
  const drawn = (node) => (node.closest ? node : node.parentElement)?.closest("figure, table")
    || node.querySelector?.("figure, table");
  window.watch = new MutationObserver((changes) => {
    if (changes.some((change) => [change.target, ...change.addedNodes].some(drawn)))
      window.took = performance.now() - begun; });
  window.watch.observe(document.body, {childList: true, subtree: true, characterData: true});
})()"""


def processor(server: subprocess.Popen[str]) -> float:
    """Seconds of the processor that the server and its processes have used."""
    whole = psutil.Process(server.pid)
    return sum(sum(each.cpu_times()[:2]) for each in [whole, *whole.children(recursive=True)])


def reaction(browser: Browser, tab: str) -> float:
    """Milliseconds from a change of a widget of this tab until all that it changes is drawn."""
    change = SLIDE
    if tab == "markov":  # another start law, so that all is computed anew
        law = browser.run("deep('input').find((e) => e.value.split(' ').length === 6).value")
        first, *others = law.split(" ")
        change = TYPE % (law, " ".join([*others, first]))
    browser.run(WATCH)
    browser.run(change)
    browser.until("window.took !== null")
    before = None
    while before != (before := browser.run("window.took")):
        time.sleep(QUIET)
    return before


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    browser = Browser(folder / "chromium")
    browser.width(1280)
    begun = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "minicosm", "explore", "--headless", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
        env=os.environ | {"MINICOSM_HOME": str(folder / "store"), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    address = re.search(r"http://\S+", server.stdout.readline())[0]
    print(f"address printed after {time.perf_counter() - begun:.1f} s")
    browser.open(address)
    browser.until("document.querySelectorAll('table.shades').length > 3")
    print(f"world, posterior and conditionals shown after {time.perf_counter() - begun:.1f} s")
    browser.until(shows(SHOWS["markov"]))
    print(f"the whole first tab after {time.perf_counter() - begun:.1f} s")
    browser.run(DEEP)
    print(f"the first change, made at once, is drawn in {reaction(browser, 'markov') / 1e3:.1f} s")
    time.sleep(IDLE)
    for number, tab in enumerate(TABS):
        browser.run(CHOOSE % number)
        browser.until(shows(SHOWS[tab]))
        time.sleep(1)
        times, used = [], []
        for _ in range(5):
            before = processor(server)
            times.append(reaction(browser, tab))
            used.append(1e3 * (processor(server) - before))
        taken, busy = statistics.median(times), statistics.median(used)
        print(f"{tab}: reacts in {taken:.0f} ms; processor {busy:.0f} ms")
    begun = time.perf_counter()
    browser.open("about:blank")
    browser.open(address)
    browser.until(shows(SHOWS["markov"]))
    print(f"a second page after {time.perf_counter() - begun:.1f} s")
    server.send_signal(signal.SIGINT)
    server.wait()
    browser.close()


if __name__ == "__main__":
    main()
