"""A picture of the demo as an SVG: the moment of a run at which most was to be seen, and its summary."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Final

from rich.console import Console, Group
from rich.terminal_theme import TerminalTheme

from tidegate.cli.demo_view import DemoView

_WIDTH: Final = 114
_FONT_FACE: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_THEME: Final = TerminalTheme(
    (16, 24, 32),
    (205, 214, 222),
    [
        *((40, 50, 60), (240, 113, 120), (126, 211, 140), (255, 203, 107)),
        *((130, 170, 255), (199, 146, 234), (137, 221, 255), (205, 214, 222)),
    ],
)


class DemoPicture:
    """Looks at the view again and again, and keeps the best look."""

    def __init__(self, view: DemoView) -> None:
        self._view = view
        self._best: Group | None = None
        self._score = -1

    def look(self) -> None:
        score = self._view.score()
        # The later of two that are as good: more has happened.
        if score >= self._score:
            self._score = score
            self._best = self._view.__rich__()

    def write(self, path: Path) -> None:
        console = Console(record=True, width=_WIDTH, file=io.StringIO(), highlight=False, force_terminal=True)
        parts: list[Any] = ["[bold]$ tidegate demo[/]", self._view.introduction().rpartition("\n")[0], ""]
        parts += [] if self._best is None else [self._best, ""]
        for part in [*parts, self._view.summary()]:
            console.print(part)
        # Without the fonts of another site: pages show pictures without fetching what these name.
        svg = _FONT_FACE.sub("", console.export_svg(title="tidegate demo", theme=_THEME, unique_id="demo"))
        path.write_text(svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace"), "utf-8")
