"""Images as numpy arrays of bytes: PNG in and out, modes L, RGB and YCbCr."""

import struct
import zlib
from pathlib import Path

import numpy as np

NEAREST, LANCZOS, BILINEAR, BICUBIC = 0, 1, 2, 3
SIGNATURE = b"\x89PNG\r\n\x1a\n"
TO_YCBCR = np.array(
    [[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]]
)
SHIFT = np.array([0, 128, 128])


class Image:
    """An array (height, width) or (height, width, 3) with its mode."""

    def __init__(self, array, mode):
        self.array, self.mode = array, mode

    @property
    def size(self):
        return self.array.shape[1], self.array.shape[0]

    @property
    def width(self):
        return self.size[0]

    @property
    def height(self):
        return self.size[1]

    @property
    def __array_interface__(self):
        return self.array.__array_interface__

    def copy(self):
        return Image(self.array.copy(), self.mode)

    def getbands(self):
        return tuple("L") if self.mode == "L" else ("R", "G", "B")

    def convert(self, mode):
        if mode == self.mode:
            return self.copy()
        colours = self.as_rgb()
        if mode == "RGB":
            return Image(colours, mode)
        values = colours @ TO_YCBCR.T + SHIFT
        bytes_ = values.round().clip(0, 255).astype(np.uint8)
        return Image(bytes_ if mode == "YCbCr" else bytes_[..., 0], mode)

    def as_rgb(self):
        if self.mode == "L":
            return np.repeat(self.array[..., None], 3, axis=2)
        if self.mode == "YCbCr":
            values = (self.array - SHIFT) @ np.linalg.inv(TO_YCBCR).T
            return values.round().clip(0, 255).astype(np.uint8)
        return self.array

    def split(self):
        if self.mode == "L":
            return (self.copy(),)
        return tuple(Image(self.array[..., band].copy(), "L") for band in range(3))

    def crop(self, box):
        left, top, right, bottom = box
        before = (max(-top, 0), max(bottom - self.height, 0))
        beside = (max(-left, 0), max(right - self.width, 0))
        margins = [before, beside] + [(0, 0)] * (self.array.ndim - 2)
        padded = np.pad(self.array, margins)
        top, left = top + before[0], left + beside[0]
        bottom, right = bottom + before[0], right + beside[0]
        return Image(padded[top:bottom, left:right].copy(), self.mode)

    def resize(self, size, resample=BICUBIC):
        width, height = size
        rows = np.arange(height) * self.height // height
        columns = np.arange(width) * self.width // width
        return Image(self.array[rows][:, columns].copy(), self.mode)

    def transpose(self, method):
        return Image(self.array[:, ::-1].copy(), self.mode)

    def save(self, path, format=None):
        Path(path).write_bytes(
            encoded(self.as_rgb() if self.mode != "L" else self.array)
        )


FLIP_LEFT_RIGHT = 0


def fromarray(array, mode=None):
    array = np.ascontiguousarray(array, dtype=np.uint8)
    return Image(array, mode or ("L" if array.ndim == 2 else "RGB"))


def new(mode, size, colour=0):
    shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
    return Image(np.full(shape, colour, dtype=np.uint8), mode)


def merge(mode, bands):
    return Image(np.stack([band.array for band in bands], axis=2), mode)


def open(file):
    data = file.read() if hasattr(file, "read") else Path(file).read_bytes()
    array = decoded(data)
    return Image(array, "L" if array.ndim == 2 else "RGB")


def encoded(array):
    """A PNG file of these bytes, without filters."""
    height, width = array.shape[:2]
    rows = array.reshape(height, -1)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(
        ">IIBBBBB", width, height, 8, 0 if array.ndim == 2 else 2, 0, 0, 0
    )
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)


def chunk(kind, data):
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def decoded(data):
    """The bytes of a PNG file that `encoded` wrote."""
    if not data.startswith(SIGNATURE):
        raise ValueError("the stand-in for Pillow reads only PNG")
    width, height, _, colour = struct.unpack(">IIBB", data[16:26])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    raw = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8)
    rows = raw.reshape(height, -1)
    if rows[:, 0].any():
        raise ValueError("the stand-in for Pillow reads only PNG files it wrote")
    shape = (height, width) if colour == 0 else (height, width, 3)
    return rows[:, 1:].reshape(shape).copy()
