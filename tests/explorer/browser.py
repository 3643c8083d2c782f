"""Headless Chromium, driven by the DevTools protocol over `websockets`, which marimo brings along."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from pathlib import Path

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update",
         "--remote-debugging-port=0")  # fmt: skip


class Browser:
    """One page. Keeps what the page says on its console as an error, and where it asks for things."""

    def __init__(self, folder: Path):
        from websockets.sync.client import connect

        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self._numbers = itertools.count(1)
        address = f"ws://127.0.0.1:{self._port_and_path(folder / 'DevToolsActivePort')}"
        self.stack = contextlib.ExitStack()
        self.socket = self.stack.enter_context(connect(address, max_size=None, proxy=None))
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def _port_and_path(self, file: Path) -> str:
        for _ in range(600):
            if file.exists() and len(lines := file.read_text().split()) == 2:
                return "".join(lines)
            time.sleep(0.1)
        raise TimeoutError("Chromium did not start")

    def send(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            got = json.loads(self.socket.recv(timeout=120))
            if got.get("id") == number:
                assert "error" not in got, got["error"]
                return got["result"]
            self._hear(got)

    def _hear(self, event) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.wrong.append(params["exceptionDetails"].get("text", "exception"))
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            words = [str(a.get("value", a.get("description", ""))) for a in params["args"]]
            self.wrong.append(" ".join(words))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.wrong.append(params["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def open(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def width(self, pixels: int, height: int = 900) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=pixels, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip

    def run(self, script: str):
        """What an expression is in the page."""
        got = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, script: str, seconds: float = 60.0) -> float:
        """Wait until an expression is true; how long it took."""
        begun = time.perf_counter()
        while not self.run(script):
            if time.perf_counter() - begun > seconds:
                raise TimeoutError(
                    f"not within {seconds} s: {script}\n{self.run('document.body.innerText')[-1500:]}"
                )
            time.sleep(0.02)
        return time.perf_counter() - begun

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        box = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=box)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.stack.close()
        self.process.terminate()
        self.process.wait(30)
