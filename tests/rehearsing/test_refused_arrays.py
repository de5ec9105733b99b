"""Arrays that torch or PIL refuse: flipped views, sparse matrices, channels first."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from shapewright.record.report import Report
from tests.rehearsing.library_errors import mend
from tests.rehearsing.rehearsed import rehearsed

ITEMS = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

{helpers}

class Images(Dataset):
    def __init__(self):
        self.images = np.random.rand(8, 6, 6, 3).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = self.images[index]
        {lines}

net = nn.Linear(6, 2)
for x in DataLoader(Images(), batch_size=4, shuffle=True):
    net(x.transpose(1, -1)).mean().backward()
"""
HELPERS = """
def mirror(image):
    if True:
        image = np.flip(image, axis=1)
    return image
"""
FLIPPED = [
    ("img = np.fliplr(img); return torch.from_numpy(img)", "np.fliplr(img)"),
    ("img = img[:, ::-1]; return torch.as_tensor(img)", "img[:, ::-1]"),
    ("img = np.flip(img, 0)\n        return torch.tensor(img)", "np.flip(img, 0)"),
    ("rot = np.rot90(img); return torch.FloatTensor(rot)", "np.rot90(img)"),
    ("img = np.flipud(img) if index else img; return img", "np.flipud(img)"),
    ("img = mirror(img); return torch.from_numpy(img)", "np.flip(image, axis=1)"),
]


def find_error(report: Report) -> Finding:
    return next(f for f in report.findings if f.severity == "error")


@pytest.mark.parametrize(("lines", "flip"), FLIPPED)
def test_a_flipped_view_is_copied(lines: str, flip: str, tmp_path: Path) -> None:
    text = ITEMS.format(helpers=HELPERS, lines=lines.replace("; ", "\n        "))
    finding = find_error(rehearsed(tmp_path, text))
    if "index else" in lines:
        assert f"`{flip}` is a view" in finding.message
    else:
        assert f"`{flip}` is a view that reads its array backwards" in finding.message
    assert finding.fixes[0].message == f"`{flip}.copy()`"
    assert finding.fixes[0].checked


def test_a_view_that_is_flipped_in_the_argument_is_copied_there(tmp_path: Path) -> None:
    lines = "return torch.from_numpy(img[:, :, ::-1])"
    finding = find_error(rehearsed(tmp_path, ITEMS.format(helpers="", lines=lines)))
    assert [fix.message for fix in finding.fixes] == ["`img[:, :, ::-1].copy()`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        "return torch.from_numpy(np.fliplr(img).copy())",
        "return torch.from_numpy(np.ascontiguousarray(img[::-1]))",
        "return torch.from_numpy(img.transpose(1, 0, 2))",
        "return torch.from_numpy(img[:, ::2])",
        "return torch.from_numpy(img).flip(0)",
    ],
)
def test_arrays_that_torch_takes(lines: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, ITEMS.format(helpers="", lines=lines)).findings


ROWS = """\
import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import nn
from torch.utils.data import DataLoader, Dataset

X = csr_matrix(np.eye(12, dtype=np.float32))

class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return {length}

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index].toarray()[0])

net = nn.Linear(12, 2)
for x in DataLoader(Rows(X), batch_size=4, shuffle=True):
    net(x).mean().backward()
print({count})
"""


@pytest.mark.parametrize(
    ("length", "count", "new"),
    [
        ("len(self.rows)", "1", "self.rows.shape[0]"),
        ("self.rows.shape[0]", "len(X), len(X) / 2", "X.shape[0]"),
        ("self.rows.shape[0]", "list(range(len(X)))", "X.shape[0]"),
    ],
)
def test_a_sparse_matrix_has_no_length(
    length: str, count: str, new: str, tmp_path: Path
) -> None:
    pytest.importorskip("scipy")
    text = ROWS.format(length=length, count=count)
    finding = find_error(rehearsed(tmp_path, text))
    assert "is a sparse matrix of SciPy, which has no `len()`" in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert len(finding.fixes[0].edits) == (2 if "/" in count else 1)
    assert finding.fixes[0].checked


IMAGE = """\
import numpy as np
import torch
from PIL import Image
from torch import nn

net = nn.Conv2d({channels}, {channels}, 3, padding=1)
x = net(torch.rand(2, {channels}, 16, 20))
x.mean().backward()
if x.mean().item() > 0:
    print("positive")
{lines}
picture.save("picture.png")
"""


@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            "picture = Image.fromarray((x[0].detach() * 255).numpy().astype(np.uint8))",
            "(x[0].detach() * 255).permute(1, 2, 0).numpy()",
        ),
        (
            "a = x[0].detach().numpy()\na = (a * 255).astype('uint8')\n"
            "picture = Image.fromarray(a)",
            "x[0].detach().permute(1, 2, 0).numpy()",
        ),
        (
            "a = np.asarray(x[0].detach().mul(255).byte())\n"
            "picture = Image.fromarray(a)",
            "a.transpose(1, 2, 0)",
        ),
        (
            "def save(img):\n    return Image.fromarray(np.uint8(img * 255), 'RGB')\n"
            "picture = Image.fromarray(np.uint8(np.array(x[0].tolist()) * 255))",
            "np.uint8(np.array(x[0].tolist()) * 255).transpose(1, 2, 0)",
        ),
    ],
)
def test_an_image_of_pil_has_its_channels_last(
    lines: str, new: str, tmp_path: Path
) -> None:
    pytest.importorskip("PIL")
    finding = find_error(rehearsed(tmp_path, IMAGE.format(channels=3, lines=lines)))
    assert "`Image.fromarray` takes an array of (H, W, C)" in finding.message
    assert "has 20 elements: its channels come first" in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


def test_a_grey_image_of_pil_has_no_channel(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    lines = "picture = Image.fromarray(x[0].detach().mul(255).byte().numpy())"
    finding = find_error(rehearsed(tmp_path, IMAGE.format(channels=1, lines=lines)))
    (fix,) = finding.fixes
    assert fix.message.endswith("byte().squeeze(0).numpy()`")


@pytest.mark.parametrize(
    "lines",
    [
        "a = x[0].detach().mul(255).byte().permute(1, 2, 0).numpy()\n"
        "picture = Image.fromarray(a)",
        "picture = Image.fromarray(x[0, 0].detach().mul(255).byte().numpy())",
    ],
)
def test_images_that_pil_takes(lines: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    report = rehearsed(tmp_path, IMAGE.format(channels=3, lines=lines))
    assert not any(f.severity == "error" for f in report.findings)


SHOWN = """\
import numpy as np
import torch

class plt:
    \"\"\"As matplotlib has it.\"\"\"

    def imshow(image):
        shape = tuple(image.shape)
        if len(shape) != 2 and (len(shape) != 3 or shape[-1] not in (3, 4)):
            raise TypeError(f"Invalid shape {shape} for image data")

photos, grey = torch.rand(2, 3, 9, 8), torch.rand(1, 9, 8)
array = np.random.rand(3, 9, 8)
plt.imshow(IMAGE)
"""
IMAGES = {
    "photos[0]": "photos[0].permute(1, 2, 0)",
    "photos[0].numpy()": "photos[0].permute(1, 2, 0).numpy()",
    "photos[0].detach().cpu().numpy()":
    "photos[0].detach().cpu().permute(1, 2, 0).numpy()",
    "photos[0] * 0.5 + 0.5": "(photos[0] * 0.5 + 0.5).permute(1, 2, 0)",
    "photos[:1].numpy()": "photos[:1][0].permute(1, 2, 0).numpy()",
    "array": "array.transpose(1, 2, 0)",
    "grey": "grey.squeeze(0)",
    "grey.numpy()": "grey.squeeze(0).numpy()",
}  # fmt: skip


@pytest.mark.parametrize("image", IMAGES)
def test_the_channels_of_a_shown_image_are_last(image: str, tmp_path: Path) -> None:
    finding = find_error(rehearsed(tmp_path, SHOWN.replace("IMAGE", image)))
    checked = [fix.message for fix in finding.fixes if fix.checked]
    assert checked[:1] == [f"`{IMAGES[image]}`"]


@pytest.mark.parametrize("image", ["photos", "torch.rand(5, 9, 8)"])
def test_several_images_are_not_one(image: str, tmp_path: Path) -> None:
    finding = find_error(rehearsed(tmp_path, SHOWN.replace("IMAGE", image)))
    assert finding.message.startswith("`imshow` takes (height, width)")
    assert finding.fixes == ()


@pytest.mark.parametrize("image", ["photos[0].permute(1, 2, 0)", "grey[0]"])
def test_an_image_is_shown(image: str, tmp_path: Path) -> None:
    assert rehearsed(tmp_path, SHOWN.replace("IMAGE", image)).findings == ()


WRITTEN = {
    "a name": (
        "def load(k):\n    image = images[k]\n    image -= mean\n    return image",
        "image = image - mean",
    ),
    "a product": (
        "def load(k):\n    image = images[k]\n    image *= 1 / 255\n    return image",
        "image = image * (1 / 255)",
    ),
    "a division": (
        "def load(k):\n    image = images[k]\n    image /= 255.0\n    return image",
        "image = image / 255.0",
    ),
    "an attribute": (
        "class Data:\n    def __init__(self):\n        self.images = images.copy()\n"
        "        self.images -= mean\nload = lambda k: Data().images[k]",
        "self.images = self.images - mean",
    ),
    "for a caller": (
        "def turn(image):\n    image -= mean\n"
        "def load(k):\n    image = images[k]\n    turn(image)\n    return image",
        "",
    ),
    "a part": (
        "def load(k):\n    image = images[k]\n    image[0] -= mean\n    return image",
        "",
    ),
}
WHOLE = """\
import numpy as np
import torch

images, mean = np.ones((4, 3, 8, 8), dtype=np.uint8), np.full((8, 8), 0.5)
{}
torch.nn.Conv2d(3, 2, 3)(torch.from_numpy(load(1)).float()[None])
"""


@pytest.mark.parametrize(("text", "new"), WRITTEN.values(), ids=WRITTEN)
def test_whole_numbers_hold_no_floats(tmp_path: Path, text: str, new: str) -> None:
    whole = WHOLE.format(text)
    finding = rehearsed(tmp_path, whole).findings[-1]
    assert "is uint8, and" in finding.message
    assert len(finding.fixes) == bool(new)
    if new:
        assert finding.fixes[0].checked
        assert new in mend(whole, finding.fixes[0].edits)


def test_arithmetic_in_place_of_floats_is_right(tmp_path: Path) -> None:
    text = WHOLE.format(
        "def load(k):\n    image = images[k].astype(np.float32)\n    image -= mean\n"
        "    return image"
    )
    assert not rehearsed(tmp_path, text).findings
