"""The directive `drawing`: a call or a tensor, drawn by Shapewright while Sphinx runs.

    ```{drawing} torch.gather(f32[4, 6], dim=0, index=i64[2, 6])
    ```

    ```{drawing}
    x = torch.arange(24.0).view(4, 6)
    sw.draw(x[1:3, ::2], name="x[1:3, ::2]")
    ```

In a body the last line is an expression that gives the drawing.
"""

from __future__ import annotations

from typing import Any

WIDTH = 680
"""Pixels, which the text of a page has room for."""


def made(call: str, body: str) -> Any:
    """The `Drawing` that a directive asks for."""
    import torch
    from torch import nn
    from torch.nn import functional

    import shapewright as sw

    if call:
        return sw.explain(call)
    *before, last = body.strip("\n").split("\n")
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": functional, "sw": sw}
    exec("\n".join(before), names)
    return eval(last, names)


def html(drawing: Any) -> str:
    """The picture, in the colours of the theme that the reader has chosen."""
    from shapewright.views.drawing.svg_canvas import style

    themes = {False: "body[data-theme=light]", True: "body[data-theme=dark]"}
    sheet = "\n".join(
        f"{theme} {rule}"
        for night, theme in themes.items()
        for rule in style(night).splitlines()
    )
    return f"<div>{drawing.svg(WIDTH)}<style>{sheet}</style></div>"


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Picture(Directive):
        """One drawing, in the page's HTML."""

        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True

        def run(self) -> list[nodes.Node]:
            call = self.arguments[0] if self.arguments else ""
            drawing = made(call, "\n".join(self.content))
            return [nodes.raw("", html(drawing), format="html")]

    app.add_directive("drawing", Picture)
    return {"parallel_read_safe": True}
