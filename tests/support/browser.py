# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a test clicks and types in, by the DevTools protocol over a pipe."""
import fcntl
import itertools
import json
import os
import subprocess
import tempfile
import time

import ibsim


def aside(descriptor):
    """The same, above 10."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One page. What it evaluates may be a promise."""

    def __init__(self, case, url, dark=False):
        self.case, self.numbers = case, itertools.count(1)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # The protocol's descriptors are 3 and 4: ours must not be among these.
        to_browser, from_browser = aside(to_browser), aside(from_browser)
        command = ("exec chromium --headless --no-sandbox --disable-gpu "
                   "--user-data-dir=%s --remote-debugging-pipe about:blank 3<&%d 4>&%d"
                   % (tempfile.mkdtemp(dir=case.folder), to_browser, from_browser))
        process = subprocess.Popen(["bash", "-c", command], pass_fds=(to_browser, from_browser),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        case.addCleanup(ibsim.stop, process)
        os.close(to_browser)
        os.close(from_browser)
        self.reader = os.fdopen(self.input, "rb")
        case.addCleanup(self.reader.close)
        case.addCleanup(os.close, self.output)
        self.errors, self.session = [], None
        target = self.send("Target.createTarget", url="about:blank", newWindow=True, width=1400,
                           height=900)["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Runtime.enable")
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        # As if its window was in front: a page that is hidden does nothing.
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.send("Page.navigate", url=url)

    def _receive(self):
        text = b""
        while not text.endswith(b"\0"):
            byte = self.reader.read(1)
            self.case.assertTrue(byte, "the browser has ended")
            text += byte
        return json.loads(text[:-1])

    def send(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", details).get("description"))
            if answer.get("method") == "Runtime.consoleAPICalled":
                self.errors.append([each.get("description", each.get("value"))
                                    for each in answer["params"]["args"]])
            if answer.get("id") == number:
                self.case.assertNotIn("error", answer, method)
                return answer["result"]

    def run(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        self.case.assertNotIn("exceptionDetails", answer, expression)
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Its value, once that is true."""
        deadline = time.monotonic() + ibsim.PATIENCE
        while not (value := self.run(expression)):
            self.case.assertLess(time.monotonic(), deadline, expression + ":\n" +
                                 self.run("document.body.innerText"))
            time.sleep(0.1)
        return value

    def text(self, place):
        return self.run("document.getElementById(%s).innerText" % json.dumps(place))

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, text="\r" if key == "Enter" and
                      kind == "keyDown" else "")

    def tab_to(self, text):
        """Presses Tab until the element with this text has the focus, as somebody without a mouse
        does."""
        for _ in range(400):
            self.press("Tab", 9)
            if self.run("document.activeElement.innerText") == text:
                return
        self.case.fail("the keyboard does not reach %r" % text)
