"""A page in headless chromium, by its own debugging pipe: real keys, clicks and downloads, and no package for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

KEYS = {  # name: code of Windows, text
    "Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowLeft": (37, ""), "ArrowRight": (39, ""),
    "Home": (36, ""), "End": (35, ""), "ArrowDown": (40, ""),
}  # fmt: skip
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]


def find_chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((found for name in names if (found := shutil.which(name))), None)
    if chromium is None:
        pytest.skip("there is no chromium: install it, with apt-get install chromium for instance")
    return chromium


class Page:
    """One page: what is sent is answered, what it says of itself is kept in `events`."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0)
        self._number, self._session, self._rest = 0, None, b""
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            told = self._receive()
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._back.read(1 << 20)
            assert more, "chromium has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def start(self) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> float:
        """Return the seconds until the page has been loaded, its script has run, and it has been drawn once."""
        began = time.perf_counter()
        self.send("Page.navigate", url=path.as_uri())
        self.run(
            "new Promise(done => { const drawn = () => requestAnimationFrame(() => setTimeout(done));"
            " document.readyState === 'complete' ? drawn() : addEventListener('load', drawn); })"
        )
        return time.perf_counter() - began

    def open_without_scripts(self, path: Path) -> None:
        """Open a page whose scripts do not run; those of `run` do."""
        self.send("Emulation.setScriptExecutionDisabled", value=True)
        self.send("Page.navigate", url=path.as_uri())
        while self.run("document.readyState") != "complete":
            time.sleep(0.02)
        self.send("Emulation.setScriptExecutionDisabled", value=False)

    def run(self, expression: str) -> Any:
        told = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key: str, times: int = 1) -> None:
        code, text = KEYS[key]
        for _ in range(times):
            given = {"key": key, "windowsVirtualKeyCode": code, "text": text}
            self.send("Input.dispatchKeyEvent", type="keyDown", **given)
            self.send("Input.dispatchKeyEvent", type="keyUp", **{**given, "text": ""})

    def complaints(self) -> list[str]:
        """Return what the console and the browser have said: errors of scripts, and what the page's policy forbids."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]


@contextmanager
def chromium_page() -> Any:
    """Start chromium and give a page."""
    command = find_chromium()
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        line = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        flags = [*FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "--no-first-run"]
        browser = subprocess.Popen(
            ["bash", "-c", line, command, *flags],
            pass_fds=(to_read, back_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(back_write)
        watch = threading.Timer(300, browser.kill)  # a browser that does not answer ends, and says so
        watch.start()
        page = Page(to_write, back_read)
        try:
            page.start()
            yield page
            page._session = None
            page.send("Browser.close")
        finally:
            watch.cancel()
            browser.kill()
            browser.wait()
            page._to.close()
            page._back.close()
