"""A report in a headless Chromium: what is on the screen, and what a mouse does to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minitopo_dc.page_load.chromium import chromium
from minitopo_dc.page_load.devtools import DevTools

PATIENCE_S = 240
WATCH = """
// Each text that is drawn on a canvas, with its box on the page; what is wiped is forgotten.
window.written = new Map();
const pens = CanvasRenderingContext2D.prototype;
const {fillText, clearRect} = pens;
pens.clearRect = function (...box) { written.set(this.canvas, []); clearRect.apply(this, box); };
pens.fillText = function (text, x, y) {
  const size = this.measureText(text), way = this.getTransform();
  const left = {left: 0, start: 0, center: 0.5, right: 1, end: 1}[this.textAlign] * size.width;
  const up = size.actualBoundingBoxAscent, down = size.actualBoundingBoxDescent;
  const corners = [[-left, -up], [size.width - left, -up], [size.width - left, down], [-left, down]]
    .map(([across, along]) => way.transformPoint({x: x + across, y: y + along}));
  if (text && size.width) {
    if (!written.has(this.canvas)) written.set(this.canvas, []);
    written.get(this.canvas).push({text, corners: corners.map(each => [each.x, each.y])});
  }
  fillText.apply(this, [text, x, y]);
};
"""
SEEN = """(() => {
  const found = [], box = (text, range) => {
    for (const {left, top, right, bottom, width} of range.getClientRects())
      if (width > 1) found.push({text, left, right, top: top + 1, bottom: bottom - 1});
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, owner = node.parentElement;
    const hidden = ["SCRIPT", "NOSCRIPT"].includes(owner.tagName) || !owner.checkVisibility();
    if (!node.data.trim() || hidden) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    box(node.data.trim(), range);
  }
  for (const [canvas, texts] of written) {
    const place = canvas.getBoundingClientRect(), ratio = canvas.width / place.width;
    if (!place.width) continue;
    for (const {text, corners} of texts) {
      const xs = corners.map(each => each[0] / ratio), ys = corners.map(each => each[1] / ratio);
      // What is slanted has a parallelogram of its own: its box is a fifth of it, at its end.
      const slanted = new Set(ys.map(Math.round)).size > 2 && Math.abs(xs[0] - xs[3]) > 1;
      const left = slanted ? Math.max(...xs) - 8 : Math.min(...xs);
      const bottom = slanted ? Math.min(...ys) + 8 : Math.max(...ys);
      found.push({text, left: place.left + left, right: place.left + Math.max(...xs),
        top: place.top + Math.min(...ys), bottom: place.top + bottom});
    }
  }
  return found;
})()"""


class Page:
    """A page that is open."""

    def __init__(self, devtools: DevTools, session: str) -> None:
        self._devtools = devtools
        self._session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._devtools.call(method, self._session, **parameters)

    def evaluate(self, script: str) -> Any:
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def show_all(self) -> None:
        """Open all that can be opened, and scroll so that each figure is drawn."""
        self.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        self.evaluate("document.getElementById('more')?.click()")
        self.evaluate("""(async () => {
          for (const each of document.querySelectorAll('figure[data-chart]')) {
            each.scrollIntoView();
            for (let i = 0; i < 100 && !each.classList.contains('drawn'); i++)
              await new Promise(done => setTimeout(done, 20));
          }
          scrollTo(0, 0);
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        })()""")

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs of texts that are over each other."""
        found = sorted(self.evaluate(SEEN), key=lambda each: float(each["top"]))
        pairs = []
        for place, one in enumerate(found):
            for other in found[place + 1 :]:
                if other["top"] >= one["bottom"]:
                    break
                if other["left"] < one["right"] - 1 and one["left"] < other["right"] - 1:
                    pairs.append((one["text"], other["text"]))
        return pairs

    def complaints(self) -> list[str]:
        """What the browser has said of the page."""
        self.evaluate("0")
        names = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        events = self._devtools._events
        return [str(each["params"]) for each in events if each.get("method") in names]

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *begin)
        self.mouse("mousePressed", *begin, button="left", clickCount=1)
        self.mouse("mouseMoved", *end, buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def double_click(self, x: float, y: float) -> None:
        for count in (1, 2):
            self.mouse("mousePressed", x, y, button="left", clickCount=count)
            self.mouse("mouseReleased", x, y, button="left", clickCount=count)


@contextmanager
def opened(file: Path, width: int) -> Iterator[Page]:
    """A file, as a browser of that width shows it."""
    with chromium([], PATIENCE_S) as devtools:
        target = devtools.call("Target.createTarget", url="about:blank")["targetId"]
        found = devtools.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(devtools, found["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **screen)
        page.call("Page.navigate", url=file.resolve().as_uri())
        devtools.wait_for("Page.loadEventFired")
        yield page
