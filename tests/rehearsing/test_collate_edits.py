"""Items that cannot be collated: what puts them into a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SINGLE = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    class Scan:
        def __init__(self, n):
            self.values = torch.randn(n, 6)
    class Scans(Dataset):
        def __len__(self):
            return 5
        def __getitem__(self, i):
            return {"scan": Scan(4 + i), "depth": float(i)}
    net = nn.Linear(6, 1)
    for item in DataLoader(Scans()%s):
        (net(item["scan"].values).mean() - item["depth"]).pow(2).backward()
    """
PHOTOS = """\
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms
    class Photos(Dataset):
        def __init__(self, n, transform=None):
            self.pixels = [np.zeros((40 + {more}, 50, 3), np.uint8) for i in range(n)]
            self.transform = transform
        def __len__(self):
            return len(self.pixels)
        def __getitem__(self, i):
            image = Image.fromarray(self.pixels[i])
            return (self.transform(image) if self.transform else image), i % 3
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for x, y in DataLoader({data}, batch_size=4):
        nn.functional.cross_entropy(net(x), y).backward()
    """


def get_fixes(folder: Path, text: str) -> list[str]:
    """The checked fixes of the only error."""
    report = rehearsed(folder, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("size", ["", ", batch_size=1, shuffle=True"])
def test_a_batch_of_one_item_is_the_item(size: str, tmp_path: Path) -> None:
    (first,) = get_fixes(tmp_path, SINGLE % size)
    assert first.endswith("collate_fn=lambda batch: batch[0])`")


def test_several_items_are_not_one(tmp_path: Path) -> None:
    assert get_fixes(tmp_path, SINGLE % ", batch_size=2") == []


@pytest.mark.parametrize(
    ("more", "data", "first"),
    [
        ("0", "Photos(8)", "`Photos(8, transform=transforms.ToTensor())`"),
        (
            "0",
            "Photos(8, transforms.Compose([transforms.Resize(32)]))",
            "`transforms.ToTensor()` behind `transforms.Resize(32)`",
        ),
        (
            "i",
            "Photos(8, transforms.Compose([transforms.Resize(32), "
            "transforms.ToTensor()]))",
            "`transforms.Resize((32, 32))`",
        ),
        (
            "i",
            "Photos(8, transforms.Compose([transforms.ToTensor()]))",
            "`transforms.Resize((40, 50))` in front of `transforms.ToTensor()`",
        ),
    ],
    ids=["no transform", "no tensor", "one side", "no size"],
)
def test_images_become_tensors_of_one_size(
    more: str, data: str, first: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    assert get_fixes(tmp_path, PHOTOS.format(more=more, data=data))[0] == first


VIEWS = """\
    import argparse
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms
    {constant}
    class Views(Dataset):
        def __init__(self, first, second):
            self.first, self.second = first, second
        def __len__(self):
            return 8
        def __getitem__(self, i):
            image = Image.fromarray(np.zeros((40 + i, 50, 3), np.uint8))
            return self.first(image), self.second(image)
    def build({parameter}):
        first = transforms.Compose([transforms.ColorJitter(), transforms.ToTensor()])
        return Views(first, {second})
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for x, y in DataLoader(build({argument}), batch_size=4):
        (net(x) - net(y)).pow(2).mean().backward()
    """
BARE = "transforms.ToTensor()"


@pytest.mark.parametrize(
    ("constant", "parameter", "argument", "size"),
    [
        ("", "size", "32", "(size, size)"),
        ("", "root='.', img_size=32", "", "(img_size, img_size)"),
        ("IMAGE_SIZE = 32", "", "", "(IMAGE_SIZE, IMAGE_SIZE)"),
        ("INPUT_SIZE = (24, 32)", "", "", "INPUT_SIZE"),
        ("parser = argparse.ArgumentParser()\n"
         "    parser.add_argument('--image-size', type=int, default=32)\n"
         "    args = parser.parse_args()", "", "",
         "(args.image_size, args.image_size)"),
        ("batch_size = 32; hidden_size = 16", "", "", "(40, 50)"),
    ],
)  # fmt: skip
def test_all_views_get_the_size_that_the_program_names(
    constant: str, parameter: str, argument: str, size: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    text = VIEWS.format(
        constant=constant, parameter=parameter, argument=argument, second=BARE
    )
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert any("no transform resizes" in place.message for place in finding.related)
    resize = f"transforms.Resize({size}), transforms.ToTensor()"
    edits = [edit.text for edit in finding.fixes[0].edits]
    assert edits == [resize, f"transforms.Compose([{resize}])"]
    assert finding.fixes[0].checked


def test_the_other_view_says_which_size(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    second = "transforms.Compose([transforms.Resize((32, 36)), transforms.ToTensor()])"
    text = VIEWS.format(constant="", parameter="size=9", argument="", second=second)
    first, *_ = get_fixes(tmp_path, text)
    assert first == "`transforms.Resize((32, 36))` in front of `transforms.ToTensor()`"


SCANS = """\
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms as T
    class Scans(Dataset):
        def __init__(self):
            self.transform = T.Compose([T.ToTensor(), {normalize}])
        def __len__(self):
            return 8
        def __getitem__(self, i):
            return self.transform(Image.fromarray(np.zeros((24, 20), np.uint8)))
    net = nn.Conv2d({channels}, 4, 3)
    for images in DataLoader(Scans(), batch_size=4):
        net(images).mean().backward()
    """


@pytest.mark.parametrize(
    ("channels", "normalize", "first"),
    [
        (1, "T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))",
         "`T.Normalize((0.5,), (0.5,))`"),
        (1, "T.Normalize(mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])",
         "`T.Normalize([0.5], [0.2])`"),
        (3, "T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
         "`T.Grayscale(num_output_channels=3)` in front of `T.ToTensor()`"),
    ],
)  # fmt: skip
def test_grey_images_are_normalized_as_such(
    channels: int, normalize: str, first: str, tmp_path: Path
) -> None:
    pytest.importorskip("torchvision")
    text = SCANS.format(channels=channels, normalize=normalize)
    assert get_fixes(tmp_path, text)[0] == first


def test_images_are_made_of_a_size_that_the_network_gives_back(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    size = "\n        nn.functional.cross_entropy(net(x), y).backward()\n"
    text = PHOTOS.format(
        more=2, data="Photos(8, transforms.Compose([transforms.ToTensor()]))"
    ).replace("nn.AdaptiveAvgPool2d(1), nn.Flatten()", "nn.ConvTranspose2d(4, 3, 3)")
    half = "nn.Conv2d(3, 4, 4, 4), nn.ConvTranspose2d(4, 3, 4, 4)"
    text = text.replace("nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 3, 3)", half)
    text = text.replace(size, "\n        (net(x) * x).mean().backward()\n")
    fix = "`transforms.Resize((40, 48))` in front of `transforms.ToTensor()`"
    assert fix in get_fixes(tmp_path, text)


PICTURES = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    class Image:  # as that of Pillow
        def __init__(self, mode):
            self.mode = mode
        def convert(self, mode):
            return Image(mode)
        @staticmethod
        def open(file):
            return Image(MODES[int(file[0]) % len(MODES)])
    class Pictures(Dataset):
        def __len__(self):
            return 6
        def __getitem__(self, i):
            image = Image.open(f"{i}.png")
            return torch.rand(len(image.mode), 8, 8), i % 3
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for x, y in DataLoader(Pictures(), batch_size=3):
        nn.functional.cross_entropy(net(x), y).backward()
    """


@pytest.mark.parametrize("modes", [["RGB", "L"], ["RGBA", "RGB", "RGB"]])
def test_pictures_of_several_modes_are_converted(
    modes: list[str], tmp_path: Path
) -> None:
    first, *_ = get_fixes(tmp_path, PICTURES.replace("MODES", str(modes)))
    assert first == '`Image.open(f"{i}.png").convert("RGB")`'


BOXES = """\
    import torch
    from torch.utils.data import DataLoader
    def collate_boxes(items):
        return torch.stack([image for image, _ in items]), [boxes for _, boxes in items]
    items = [(torch.zeros(3, 8, 8), torch.zeros(n, 4)) for n in (1, 3, 2, 2)]
    for images, boxes in DataLoader(items, batch_size=2%s):
        print(images.shape)
    """


def test_a_collate_function_that_no_loader_is_given_is_named(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, BOXES % "")
    (finding,) = report.findings
    places = {related.span.line: related.message for related in finding.related}
    assert places[3].startswith("`collate_boxes` puts items into a batch")
    assert "stacks the items as they are" in places[6]
    assert "collate_fn=collate_boxes" in finding.fixes[0].message
    (tmp_path / "given").mkdir()
    given = rehearsed(tmp_path / "given", BOXES % ", collate_fn=collate_boxes")
    assert given.findings == ()
