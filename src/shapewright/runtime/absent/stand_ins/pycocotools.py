"""pycocotools: annotations of COCO, of which each picture has three, and masks."""

from __future__ import annotations

from typing import Any

from shapewright.runtime.absent.annotation_sets import COCO_NUMBERS

SOURCE = "classes and counts of https://cocodataset.org, 2017"
VERSION = "2.0.0"
PICTURES = 1_000
"""Of the 118,287 pictures for training: those beyond bring nothing new."""
BOXES = 3
SHAPE = (375, 500)


class COCO:
    """The annotations of a file: pictures, their objects and categories."""

    def __init__(self, annotation_file: Any = None) -> None:
        height, width = SHAPE
        self._file = str(annotation_file)
        self.cats = {
            number: {"id": number, "name": f"class {number}", "supercategory": "class"}
            for number in COCO_NUMBERS
        }
        self.imgs = {
            number: {
                "id": number, "file_name": f"{number:012}.jpg", "height": height,
                "width": width, "coco_url": "",
            }
            for number in range(1, PICTURES + 1)
        }  # fmt: skip
        self.anns = {
            number: self._write_annotation(number) for number in range(BOXES * PICTURES)
        }
        self.imgToAnns: dict[int, list[Any]] = {number: [] for number in self.imgs}
        self.catToImgs: dict[int, list[int]] = {number: [] for number in self.cats}
        for annotation in self.anns.values():
            self.imgToAnns[annotation["image_id"]].append(annotation)
            if "category_id" in annotation:
                category = annotation["category_id"]
                self.catToImgs[category].append(annotation["image_id"])
        self.dataset = {
            "info": {}, "licenses": [], "images": list(self.imgs.values()),
            "annotations": list(self.anns.values()),
            "categories": list(self.cats.values()),
        }  # fmt: skip

    def _write_annotation(self, number: int) -> dict[str, Any]:
        left, top = 10.0 * (number % BOXES), 20.0
        side = 50.0 + number % 7
        right, bottom = left + side, top + side
        identity = {"id": number, "image_id": number // BOXES + 1}
        if "captions" in self._file:
            return {**identity, "caption": "some words of a text"}
        annotation = {
            **identity, "iscrowd": 0, "area": side * side,
            "category_id": COCO_NUMBERS[number % len(COCO_NUMBERS)],
            "bbox": [left, top, side, side],
            "segmentation": [[left, top, right, top, right, bottom, left, bottom]],
        }  # fmt: skip
        if "keypoints" in self._file:
            annotation |= {"keypoints": [0] * 51, "num_keypoints": 0}
        return annotation

    def createIndex(self) -> None:
        """Do nothing: the index is there."""

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[int]:
        """Return the numbers of pictures with these numbers and categories."""
        numbers = set(_list(imgIds) or self.imgs)
        for category in _list(catIds):
            numbers &= set(self.catToImgs[category])
        return sorted(numbers)

    def getCatIds(
        self, catNms: Any = (), supNms: Any = (), catIds: Any = ()
    ) -> list[int]:
        """Return the numbers of categories."""
        names = _list(catNms)
        return [
            number
            for number, category in self.cats.items()
            if (not names or category["name"] in names)
            and (not _list(catIds) or number in _list(catIds))
        ]

    def getAnnIds(
        self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None
    ) -> list[int]:
        """Return the numbers of annotations of these pictures and categories."""
        pictures, categories = _list(imgIds), _list(catIds)
        return [
            number
            for number, annotation in self.anns.items()
            if (not pictures or annotation["image_id"] in pictures)
            and (not categories or annotation["category_id"] in categories)
            and not iscrowd
        ]

    def loadImgs(self, ids: Any = ()) -> list[Any]:
        """Return pictures by their numbers."""
        return [self.imgs[number] for number in _list(ids)]

    def loadAnns(self, ids: Any = ()) -> list[Any]:
        """Return annotations by their numbers."""
        return [self.anns[number] for number in _list(ids)]

    def loadCats(self, ids: Any = ()) -> list[Any]:
        """Return categories by their numbers."""
        return [self.cats[number] for number in _list(ids)]

    def loadRes(self, resFile: Any) -> COCO:
        """Return results, as annotations."""
        return COCO()

    def annToMask(self, ann: Any) -> Any:
        """Return the mask (height, width) of an annotation."""
        return decode({"size": list(SHAPE)})

    def annToRLE(self, ann: Any) -> Any:
        """Return the encoded mask of an annotation."""
        return {"size": list(SHAPE), "counts": b""}


class COCOeval:
    """An evaluation, whose twelve numbers are zero."""

    def __init__(
        self, cocoGt: Any = None, cocoDt: Any = None, iouType: str = "segm"
    ) -> None:
        from types import SimpleNamespace

        import numpy

        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.stats = numpy.zeros(12)
        self.params = SimpleNamespace(
            imgIds=[], catIds=list(COCO_NUMBERS), iouType=iouType,
            areaRng=[[0, 1e10]] * 4, iouThrs=numpy.linspace(0.5, 0.95, 10),
            maxDets=[1, 10, 100], useCats=1, useSegm=None,
            recThrs=numpy.linspace(0, 1, 101), areaRngLbl=["all"],
        )  # fmt: skip
        self.evalImgs: list[Any] = []
        self.eval: dict[str, Any] = {}

    def evaluate(self) -> None:
        """Do nothing: nothing is known of the results."""

    accumulate = summarize = _prepare = evaluate

    def computeIoU(self, imgId: Any, catId: Any) -> list[Any]:
        """Return the overlaps of detections and truths: of none."""
        return []

    computeOks = computeIoU

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: Any) -> None:
        """Return nothing: a picture without detections and truths."""


def _list(numbers: Any) -> list[Any]:
    return list(numbers) if hasattr(numbers, "__iter__") else [numbers]


def frPyObjects(pyobj: Any, h: int, w: int) -> Any:
    """Return the encoded masks (h, w) of polygons or boxes."""
    encoded = {"size": [int(h), int(w)], "counts": b""}
    return [encoded for _ in pyobj] if isinstance(pyobj, list) else encoded


def merge(rleObjs: Any, intersect: bool = False) -> Any:
    """Return the union of encoded masks."""
    return rleObjs[0]


def decode(rleObjs: Any) -> Any:
    """Return masks (h, w, count), of one alone (h, w), as bytes."""
    import numpy

    if isinstance(rleObjs, list):
        height, width = rleObjs[0]["size"] if rleObjs else (0, 0)
        return numpy.zeros((height, width, len(rleObjs)), numpy.uint8)
    return numpy.zeros(tuple(rleObjs["size"]), numpy.uint8)


def encode(bimask: Any) -> Any:
    """bimask (h, w) or (h, w, count): the encoded mask or masks."""
    height, width = bimask.shape[:2]
    encoded = {"size": [height, width], "counts": b""}
    return encoded if bimask.ndim == 2 else [encoded] * bimask.shape[2]


def area(rleObjs: Any) -> Any:
    """Return the area of each encoded mask."""
    import numpy

    is_single = not isinstance(rleObjs, list)
    return numpy.uint32(0) if is_single else numpy.zeros(len(rleObjs), numpy.uint32)


def iou(dt: Any, gt: Any, pyiscrowd: Any) -> Any:
    """Return (detections, truths)."""
    import numpy

    return numpy.zeros((len(dt), len(gt)))


MODULES: dict[str, dict[str, Any]] = {
    "": {}, "coco": {"COCO": COCO}, "cocoeval": {"COCOeval": COCOeval},
    "mask": {
        "frPyObjects": frPyObjects, "merge": merge, "decode": decode, "encode": encode,
        "area": area, "iou": iou,
    },
}  # fmt: skip
