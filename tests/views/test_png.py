"""A drawing as a PNG: a real picture, rendered by the optional extra."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import shapewright as sw
from shapewright.cli.main import main
from shapewright.views.drawing.drawing import render_svg

CALL = "torch.gather(f32[4, 6], 0, i64[2, 6])"


def pixels(picture: bytes) -> np.ndarray:
    """The pixels, (height, width, 4), of a PNG with 8 bits for each of RGBA."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, size = 8, b"", (0, 0)
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        kind, body = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        (said,) = struct.unpack(">I", picture[at + 8 + length : at + 12 + length])
        assert zlib.crc32(kind + body) == said
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
            assert body[8:10] == bytes([8, 6])
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height = size
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 4 * width + 1)
    return unfiltered(raw[:, 0], raw[:, 1:].reshape(height, width, 4).astype(int))


def unfiltered(kinds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The pixels of filtered rows, as the format describes."""
    before = np.zeros_like(rows[0])
    for kind, row in zip(kinds, rows, strict=True):
        if kind == 1:  # what stands at the left was taken away
            row[:] = np.cumsum(row, axis=0) % 256
        elif kind == 2:  # what stands above
            row[:] = (row + before) % 256
        elif kind:  # their mean, or the nearest of three
            row[:] = from_left_on(row.tolist(), before.tolist(), mean=kind == 3)
        before = row
    return rows


def from_left_on(
    given: list[list[int]], before: list[list[int]], mean: bool
) -> list[list[int]]:
    """A row of the two filters in which each pixel needs the one to its left."""
    last, corners = [0] * 4, [0] * 4
    for pixel, above in zip(given, before, strict=True):
        if last == above == corners and not any(pixel):  # most of a plain page
            pixel[:] = last
            continue
        for c, (left, up, corner) in enumerate(zip(last, above, corners, strict=True)):
            guess = left + up - corner
            near = min((left, up, corner), key=lambda one, g=guess: abs(g - one))
            pixel[c] = (pixel[c] + ((left + up) // 2 if mean else near)) % 256
        last, corners = pixel, above
    return given


def test_a_png_is_the_drawing_by_day(tmp_path: Path) -> None:
    drawing = sw.explain(CALL)
    drawing.save(tmp_path / "gather.png")
    found = pixels((tmp_path / "gather.png").read_bytes())
    assert found.shape[1] == 2 * 760
    assert found.shape[0] > 800
    colours = found @ [1 << 24, 1 << 16, 1 << 8, 1]
    for colour in ("ffffff", "ddf4ff", "dafbe1", "fff8c5", "0969da", "1a7f37"):
        assert (colours == int(f"{colour}ff", 16)).any(), colour
    dark = (found[..., :3].sum(axis=2) < 150).sum()
    assert dark > 5000  # the text is there


def test_on_the_command_line_only_ours_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gather.png"
    assert main(["explain", "-o", str(file), "f32[2, 3]"]) == 0
    first = file.read_bytes()
    assert main(["explain", "-o", str(file), CALL]) == 0
    assert file.read_bytes() != first
    assert capsys.readouterr().err.count(f"wrote {file}") == 2
    theirs = file.read_bytes().replace(b"shapewright explain", b"another programme!!")
    file.write_bytes(theirs)
    assert main(["explain", "-o", str(file), CALL]) == 2
    assert file.read_bytes() == theirs
    assert "was not written by shapewright" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("families", "own"),
    [
        ("Menlo,'DejaVu Sans Mono','Courier New',monospace", "JetBrains Mono"),
        ("'DejaVu Sans',Arial,Helvetica,sans-serif", "Inter"),
    ],
)
def test_the_fonts_of_the_machine_make_no_difference(families: str, own: str) -> None:
    drawn = [lettered(families), lettered(f"'{own}'")]
    assert drawn[0] == drawn[1]
    assert drawn[0] != lettered(families, text="")


def lettered(families: str, text: str = "└─├ (B, 3) → …") -> bytes:
    """The picture of a text in the first of these fonts that there is."""
    return render_svg(
        '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="30">'
        f'<text y="20" font-family="{families}">{text}</text></svg>'
    )


def test_without_the_extra_a_sentence_says_how_to_get_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    file = tmp_path / "gather.png"
    assert main(["explain", "-o", str(file), CALL]) == 2
    told = capsys.readouterr().err
    assert "pip install 'shapewright[png]'" in told
    assert f"or write `{file.with_suffix('.svg')}`" in told
    assert told.count("\n") == 1
    assert not file.exists()
