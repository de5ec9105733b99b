"""Data that is not on this machine: stand-ins of its shapes, each told."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

LIBRARY = """\
class StandardTransform:
    def __init__(self, transform, target_transform):
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, image, target):
        if self.target_transform is not None:
            target = self.target_transform(target)
        return self.transform(image), target


class VisionDataset:
    def __init__(self, root, transforms=None, transform=None, target_transform=None):
        self.root, self.transform = root, transform
        self.target_transform = target_transform
        self.transforms = transforms
        if transform is not None:
            self.transforms = StandardTransform(transform, target_transform)


class MNIST(VisionDataset):
    def __init__(self, root, train=True, transform=None, target_transform=None,
                 download=False):
        super().__init__(root, transform=transform)
        if download:
            raise AssertionError("the network was reached for")
        raise RuntimeError("Dataset not found. You can use download=True")

    def __getitem__(self, index):
        return self.transform(self.data[index]), self.targets[index]

    def __len__(self):
        return len(self.data)


class FashionMNIST(MNIST):
    pass


class ImageFolder(VisionDataset):
    def __init__(self, root, transform=None, target_transform=None):
        super().__init__(root, None, transform, target_transform)
        raise FileNotFoundError(root)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self.transforms(self.loader(path), target)

    def __len__(self):
        return len(self.samples)


ImageFolder.__module__ = MNIST.__module__ = "torchvision.datasets"
"""
IMAGES = """\
class Image:
    def __init__(self, mode, size):
        self.mode, self.size = mode, size


def new(mode, size):
    return Image(mode, size)
"""
TRAINING = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import NAME

def to_tensor(image):
    width, height = image.size
    return torch.zeros(1 if image.mode == "L" else 3, height, width)

data = NAME("data", GIVEN, transform=to_tensor)
loader = DataLoader(data, batch_size=64, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print(len(data), len(data.classes))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A torchvision with data sets that are not there."""
    for name, text in (("torchvision", ""), ("torchvision/datasets", LIBRARY),
                       ("PIL", ""), ("PIL/Image", IMAGES)):  # fmt: skip
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("torchvision", "PIL"):
            del sys.modules[name]


def training(name: str, given: str, features: int) -> str:
    text = TRAINING.replace("NAME", name).replace("GIVEN", given)
    return text.replace("FEATURES", str(features))


@pytest.mark.parametrize(
    ("folder", "given", "count"),
    [
        ("MNIST/train/0", "train=True", 1),
        ("MNIST/train/0", "train=True, download=True", 0),
        ("MNIST/raw", "train=True", 0),
        ("other/0", "train=True", 0),
    ],
)
def test_other_files_in_the_folder_of_a_data_set_are_no_absent_ones(
    library: Path, folder: str, given: str, count: int
) -> None:
    inner = library / "data" / folder
    inner.mkdir(parents=True)
    (inner / "0.png").write_bytes(b"")
    text = training("MNIST", given, 784).replace('"data"', repr(str(library / "data")))
    report = rehearsed(library, text)
    errors = [f.message for f in report.findings if f.severity == "error"]
    assert [m.startswith("`MNIST` reads the files") for m in errors] == [True] * count


def told(report: object) -> list[str]:
    """What was stood in for."""
    return [
        f"{each.stands_for}: {each.message} ({each.basis})"
        for each in report.assumptions  # type: ignore[attr-defined]
        if each.stands_for
    ]


def test_a_data_set_by_name_has_its_documented_images(library: Path) -> None:
    report = rehearsed(library, training("MNIST", "download=True", 28 * 28))
    assert report.findings == ()
    assert report.complete
    assert told(report) == [
        "the files of `MNIST`: 60,000 images of 1 x 28 x 28 and 10 classes (documented)"
    ]


def test_a_data_set_that_derives_from_another_has_its_own_name(library: Path) -> None:
    report = rehearsed(library, training("FashionMNIST", "train=False", 28 * 28))
    assert report.findings == ()
    assert told(report) == [
        "the files of `FashionMNIST`: 10,000 images of 1 x 28 x 28 and 10 classes"
        " (documented)"
    ]


def test_an_error_shows_on_a_stand_in(library: Path) -> None:
    report = rehearsed(library, training("MNIST", "download=True", 32 * 32))
    (finding,) = report.findings
    assert finding.code == "inner-dim-mismatch"
    assert finding.fixes[0].message == "`nn.Linear(28 * 28, 10)`"


ARRAYS = """\
import numpy as np
import torch

tokens = np.memmap("data/train.bin", dtype=np.uint16, mode="r")
starts = torch.randint(len(tokens) - 8, (4,))
x = torch.stack([torch.from_numpy(tokens[i : i + 8].astype(np.int64)) for i in starts])
pixels = np.fromfile("pixels.raw", np.float32, 3 * 16)
table = np.memmap("table.bin", dtype="float32", mode="r", shape=(100, 5))
print(torch.nn.Embedding(10, 3)(x).shape, pixels.shape, table.shape)
"""


def test_arrays_of_absent_files_are_as_long_as_is_said(tmp_path: Path) -> None:
    before = np.memmap, np.fromfile
    report = rehearsed(tmp_path, ARRAYS)
    assert report.findings == ()
    assert report.complete
    assert told(report) == [
        "`data/train.bin`: `np.memmap` of uint16[1,000,000] (assumed)",
        "`pixels.raw`: `np.fromfile` of float32[48] (read)",
        "`table.bin`: `np.memmap` of float32[100, 5] (read)",
    ]
    assert (np.memmap, np.fromfile) == before


TEXT = """\
import torch

text = open("input.txt", encoding="utf-8").read()
letters = sorted(set(text))
ids = torch.tensor([letters.index(letter) for letter in text[:64]])
table = torch.nn.Embedding(len(letters), 8)
print(table(ids).shape)
"""


def test_absent_text_is_letters(tmp_path: Path) -> None:
    before = builtins.open, torch.load
    report = rehearsed(tmp_path, TEXT)
    assert report.findings == ()
    assert told(report) == [
        "`input.txt`: 200,000 characters, 65 of them distinct (assumed)"
    ]
    assert (builtins.open, torch.load) == before


def test_what_exists_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("abcabc" * 20)
    np.arange(1000, dtype=np.uint16).tofile(tmp_path / "train.bin")
    text = TEXT + (
        "import numpy as np\n"
        'tokens = np.memmap("train.bin", dtype=np.uint16, mode="r")\n'
        "assert len(tokens) == 1000 and len(letters) == 3\n"
    )
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    assert told(report) == []


@pytest.mark.parametrize(
    ("line", "name", "spec"),
    [
        ('open("config.json").read()', "config.json", "config.json={...}"),
        ('open("sizes.csv").read()', "sizes.csv", "sizes.csv=table[1000](name: f32"),
        ('open("notes.txt", "rb").read()', "notes.txt", "notes.txt=text[1000000, 65]"),
    ],
)  # fmt: skip
def test_what_decides_everything_is_asked_for_in_one_sentence(
    line: str, name: str, spec: str, tmp_path: Path
) -> None:
    (finding,) = rehearsed(tmp_path, f"import torch\n{line}\n").findings
    assert finding.code == "not-here"
    assert finding.message.startswith(f"`{name}` is not on this machine")
    assert f'--data "{spec}' in finding.message
    assert finding.span is not None
    assert finding.span.line == 2


def test_a_file_that_is_only_asked_for_stays_absent(tmp_path: Path) -> None:
    line = 'import os; os.stat("input.txt")'
    (finding,) = rehearsed(tmp_path, f"import torch\n{line}\n").findings
    assert "FileNotFoundError" in finding.message


def test_an_absent_checkpoint_fits_the_model(tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "net = torch.nn.Linear(3, 4)\n"
        'net.load_state_dict(torch.load("best.pt"))\n'
        "print(net(torch.randn(2, 3)).shape)\n"
    )
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    assert told(report) == ["`best.pt`: weights that fit what loads them (read)"]
    assert not os.path.exists(tmp_path / "best.pt")


ANNOTATED = """\
import xml.etree.ElementTree as tree
from pathlib import Path

root = Path("VOCdevkit/VOC2007")
names = [line.strip() for line in open(root / "ImageSets/Main/trainval.txt")]
annotation = tree.parse(root / f"Annotations/{names[1]}.xml").getroot()
boxes = [[int(box.find("bndbox").find(side).text) for side in ("xmin", "ymax")]
         for box in annotation.iter("object")]
assert (len(names), len(boxes)) == (5011, 2), (len(names), boxes)
labels = [line.split(",") for line in open("coco_labels.txt")]
assert len(labels) == 80
assert int(labels[-1][0]) == 90
import numpy as np
points = np.loadtxt("modelnet40_normal_resampled/chair/chair_0001.txt", delimiter=",")
assert points.shape == (10_000, 6)
np.random.choice([[1, 2], [3]])
"""


def test_files_of_annotated_pictures_and_of_points(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, ANNOTATED)
    (finding,) = report.findings
    assert finding.span is not None
    assert finding.span.line == 16  # not numpy's compiled code
    told = {each.stands_for for each in report.assumptions if each.stands_for}
    assert "`*VOC20*/Annotations/*.xml`" in told


KEPT = """\
from os import listdir

names = [name for name in listdir("data/imgs") if not name.startswith(".")]
if not names:
    raise RuntimeError("no pictures in data/imgs")
print(len(names))
out = listdir("checkpoints")
assert out == [".gitkeep"], out
"""


def test_a_folder_that_is_kept_for_data_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("data/imgs", "checkpoints"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / ".gitkeep").write_text("")
    report = rehearsed(tmp_path, KEPT)
    assert report.findings == ()
    (told,) = [each for each in report.assumptions if each.stands_for]
    assert told.stands_for == "`data/imgs`"


OWN = {
    "calls that of its base": """\
class Doubled(MNIST):
    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return torch.cat((image, image)), label

data = Doubled("data", transform=lambda image: image[None] / 255)
""",
    "reads the arrays": """\
class Doubled(MNIST):
    def __getitem__(self, index):
        image = self.data[index].float()
        return torch.stack((image, image)), self.targets[index]

data = Doubled("data")
""",
    "loads the paths": """\
def to_tensor(image):
    return torch.zeros(2, 28, 28) if image.size == (500, 375) else image

class Doubled(ImageFolder):
    def __getitem__(self, index):
        path, label = self.samples[index]
        return self.transform(self.loader(path)), label

data = Doubled("data", transform=to_tensor)
""",
}
LOOP = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder, MNIST

OWN
loader = DataLoader(data, batch_size=64)
model = nn.Linear(FEATURES, 10)
for x, y in loader:
    nn.functional.cross_entropy(model(x.flatten(1)), y)
"""


@pytest.mark.parametrize("own", OWN)
def test_items_of_a_class_of_ones_own_are_its_own(
    library: Path, tmp_path: Path, own: str
) -> None:
    text = LOOP.replace("OWN", OWN[own])
    report = rehearsed(tmp_path, text.replace("FEATURES", "2 * 28 * 28"))
    assert [finding.message for finding in report.findings] == []
    assert "(64, 2, 28, 28) f32" in str(report)
    (finding,) = rehearsed(tmp_path, text.replace("FEATURES", "784")).findings
    assert "1568" in finding.message


@pytest.mark.parametrize("way", ["transform", "target_transform", "transforms"])
def test_few_images_of_a_large_batch_are_made(
    library: Path, tmp_path: Path, way: str
) -> None:
    changes = {
        "transform": "transform=to_tensor",
        "target_transform": "transform=to_tensor, target_transform=lambda n: n + 1",
        "transforms": "transforms=lambda image, label: (to_tensor(image), label)",
    }
    text = f"""\
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import VisionDataset, MNIST

calls = []

def to_tensor(image):
    calls.append(image)
    return torch.zeros(1, 28, 28)

class Given(MNIST):
    def __init__(self, root, **given):
        try:
            super().__init__(root)
        finally:
            VisionDataset.__init__(self, root, **given)

loader = DataLoader(Given("data", {changes[way]}), batch_size=500)
x, y = next(iter(loader))
assert x.shape == (500, 1, 28, 28)
assert y[:3].tolist() == ({[1, 2, 3] if way == "target_transform" else [0, 1, 2]})
assert y[499] == ({10 if way == "target_transform" else 9})
assert len(calls) {"== 500" if way == "transforms" else "<= 50"}, len(calls)
"""
    report = rehearsed(tmp_path, text)
    assert [finding.message for finding in report.findings] == []
    assert report.complete
