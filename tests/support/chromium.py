"""A page in headless chromium, by its own debugging pipe: real keys and clicks, and no package for it."""

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

KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowLeft": (37, "")}  # name: code of Windows, text
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
]


class Page:
    """One page: what is sent is answered; `events` has what the page reported meanwhile."""

    def __init__(self, to: int, back: int) -> None:
        self.pipes = os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0)
        self._number, self._rest = 0, b""
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        self.pipes[0].write(json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self.pipes[1].read(1 << 20)
            assert more, "chromium has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, *, scripts: bool = True) -> float:
        """Return the seconds until the page has been loaded, its script has run, and it has been drawn once."""
        self.events.clear()
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        began = time.perf_counter()
        self.send("Page.navigate", url=path.as_uri())
        while self.run("document.readyState") != "complete":
            time.sleep(0.001)
        self.send("Emulation.setScriptExecutionDisabled", value=False)
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        return time.perf_counter() - began

    def run(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, times: int = 1) -> None:
        code, text = KEYS[key]
        for _ in range(times):
            for kind, own in (("keyDown", text), ("keyUp", "")):
                self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=own)

    def complaints(self) -> list[str]:
        """Return errors of scripts, and what the page's policy forbids."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]


@contextmanager
def chromium_page() -> Any:
    """Start chromium and give a page."""
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if command is None:
        pytest.skip("there is no chromium: install it, with apt-get install chromium for instance")
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        line = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        flags = [*FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        browser = subprocess.Popen(
            ["bash", "-c", line, command, *flags],
            pass_fds=(to_read, back_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(back_write)
        watch = threading.Timer(300, browser.kill)  # a browser that does not answer ends, and says so
        watch.start()
        try:
            page = Page(to_write, back_read)
            yield page
            for pipe in page.pipes:
                pipe.close()
        finally:
            watch.cancel()
            browser.kill()
            browser.wait()
