"""How long `minicosm explore` takes to open, and each of its tabs to react, in headless Chromium.

Needs the extra `explore` and Chromium. Opening is from the start of the command, with an empty store, to the
first tab with all that it shows. A reaction is from a change of a widget to a change of what is shown, the
median of five; the processor's time is that of the server and does not depend on what else the machine does.
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

IDLE = 20  # seconds in which the other tabs are compiled

WATCH = """(() => { const begun = performance.now(); window.took = null;
  const drawn = (node) => (node.closest ? node : node.parentElement)?.closest("figure, table");
  const seen = new MutationObserver((changes) => {
    if (changes.some((change) => [change.target, ...change.addedNodes].some(drawn))) {
      window.took = performance.now() - begun; seen.disconnect(); } });
  seen.observe(document.body, {childList: true, subtree: true, attributes: true, characterData: true});
})()"""


def processor(server: subprocess.Popen[str]) -> float:
    """Seconds of the processor that the server has used."""
    return sum(psutil.Process(server.pid).cpu_times()[:2])


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
    print(f"the server has used {processor(server):.1f} s of the processor")
    time.sleep(IDLE)
    browser.run(DEEP)
    for number, tab in enumerate(TABS):
        browser.run(CHOOSE % number)
        browser.until(shows(SHOWS[tab]))
        time.sleep(1)
        times, used = [], []
        for _ in range(5):
            before, change = processor(server), SLIDE
            if tab == "markov":  # another start law, so that all is computed anew
                law = browser.run(
                    "deep('input').find((e) => e.value.split(' ').length === 6).value"
                )
                first, *others = law.split(" ")
                change = TYPE % (law, " ".join([*others, first]))
            browser.run(WATCH)
            browser.run(change)
            browser.until("window.took !== null")
            times.append(browser.run("window.took"))
            time.sleep(1)
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
