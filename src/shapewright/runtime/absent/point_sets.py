"""Files of public data sets of points, by their paths: lists, shapes and labels."""

from __future__ import annotations

import json

MODELNET = """
    airplane bathtub bed bench bookshelf bottle bowl car chair cone cup curtain desk
    door dresser flower_pot glass_box guitar keyboard lamp laptop mantel monitor
    night_stand person piano plant radio range_hood sink sofa stairs stool table tent
    toilet tv_stand vase wardrobe xbox
""".split()
"""The 40 classes of https://modelnet.cs.princeton.edu."""
MODELNET_10 = """
    bathtub bed chair desk dresser monitor night_stand sofa table toilet
""".split()
SHAPENET = {
    "Airplane": "02691156", "Bag": "02773838", "Cap": "02954340", "Car": "02958343",
    "Chair": "03001627", "Earphone": "03261776", "Guitar": "03467517",
    "Knife": "03624134", "Lamp": "03636649", "Laptop": "03642806",
    "Motorbike": "03790512", "Mug": "03797390", "Pistol": "03948459",
    "Rocket": "04099429", "Skateboard": "04225987", "Table": "04379243",
}  # fmt: skip
"""The 16 categories of ShapeNet's parts, https://web.stanford.edu/~ericyi/project_page/
part_annotation, and their numbers."""


def write_names(names: list[str]) -> str:
    """Return a name a line."""
    return "".join(f"{name}\n" for name in names)


def write_shapes(names: list[str], count: int) -> str:
    """Return the names of so many shapes, as ``airplane_0001``, a line each."""
    rows = [f"{names[n % len(names)]}_{n // len(names) + 1:04}" for n in range(count)]
    return write_names(sorted(rows))


def write_points(count: int, width: int) -> str:
    """Return so many points of so many values, with commas for more than three."""
    comma = "," if width > 3 else " "
    rows = [
        comma.join(f"{(n * (k + 3)) % 97 / 97:.3f}" for k in range(width)) + "\n"
        for n in range(97)
    ]
    return "".join(rows * (count // 97 + 1))[: sum(map(len, rows)) * count // 97]


def write_categories() -> str:
    """Return the categories and their numbers, a line each."""
    return "".join(f"{name}\t{number}\n" for name, number in SHAPENET.items())


def write_parts(count: int) -> str:
    """Return the part of each point."""
    return "1\n2\n" * (count // 2)


def write_file_list(count: int) -> str:
    """Return a split: ``shape_data/02691156/name`` for so many shapes."""
    numbers = list(SHAPENET.values())
    return json.dumps([
        f"shape_data/{numbers[n % len(numbers)]}/shape{n:05}" for n in range(count)
    ])  # fmt: skip
