"""Files of public data sets of annotated pictures: lists, boxes and labels."""

from __future__ import annotations

VOC = """
    aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse
    motorbike person pottedplant sheep sofa train tvmonitor
""".split()
"""The 20 classes of http://host.robots.ox.ac.uk/pascal/VOC."""
COCO_NUMBERS = tuple(
    number for number in range(1, 91)
    if number not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
)  # fmt: skip
"""The numbers of the 80 categories of https://cocodataset.org."""


def write_picture_names(year: int, count: int) -> str:
    """Return the names of so many pictures of VOC, a line each."""
    if year == 2007:
        return "".join(f"{number:06}\n" for number in range(1, count + 1))
    return "".join(f"{year}_{number:06}\n" for number in range(1, count + 1))


def write_boxes(name: str) -> str:
    """Return the annotation of a picture of VOC: two objects in 500 x 375."""
    digits = "".join(letter for letter in name if letter.isdigit()) or "0"
    objects = "".join(
        f"<object><name>{VOC[(int(digits) + n) % len(VOC)]}</name><pose>Left</pose>"
        "<truncated>0</truncated><difficult>0</difficult><bndbox>"
        f"<xmin>{40 + 50 * n}</xmin><ymin>60</ymin><xmax>{240 + 50 * n}</xmax>"
        "<ymax>300</ymax></bndbox></object>"
        for n in range(2)
    )
    return (
        f"<annotation><folder>VOC</folder><filename>{name}.jpg</filename><size>"
        "<width>500</width><height>375</height><depth>3</depth></size>"
        f"<segmented>0</segmented>{objects}</annotation>"
    )


def write_coco_labels() -> str:
    """Return a line for each category: its number, its place from 1 on, its name."""
    return "".join(
        f"{number},{n},class {n}\n" for n, number in enumerate(COCO_NUMBERS, 1)
    )
