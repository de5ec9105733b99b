"""Data sets that read files laid out as torchvision's are."""

import gzip
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class VisionDataset(Dataset):
    def __init__(self, root, transform=None, target_transform=None):
        self.root = os.path.expanduser(root)
        self.transform, self.target_transform = transform, target_transform

    def transformed(self, image, target):
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target


def numbers(path):
    """The bytes of an idx file in its own shape, packed or not."""
    if not path.exists():
        path = path.with_name(path.name + ".gz")
    if not path.exists():
        raise RuntimeError(
            "Dataset not found. You can use download=True to download it"
        )
    data = (
        gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
    )
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)
    return torch.from_numpy(values.copy())


class MNIST(VisionDataset):
    classes = [str(digit) for digit in range(10)]

    def __init__(
        self, root, train=True, transform=None, target_transform=None, download=False
    ):
        super().__init__(root, transform, target_transform)
        self.train = train
        raw = Path(self.root) / type(self).__name__ / "raw"
        part = "train" if train else "t10k"
        self.data = numbers(raw / f"{part}-images-idx3-ubyte")
        self.targets = numbers(raw / f"{part}-labels-idx1-ubyte").long()

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image = Image.fromarray(self.data[index].numpy(), mode="L")
        return self.transformed(image, int(self.targets[index]))


class FashionMNIST(MNIST):
    pass


class CIFAR10(VisionDataset):
    folder = "cifar-10-batches-py"
    parts = {True: [f"data_batch_{n}" for n in range(1, 6)], False: ["test_batch"]}
    key = "labels"

    def __init__(
        self, root, train=True, transform=None, target_transform=None, download=False
    ):
        super().__init__(root, transform, target_transform)
        images, self.targets = [], []
        for part in self.parts[train]:
            data = (Path(self.root) / self.folder / part).read_bytes()
            batch = pickle.loads(data, encoding="latin1")
            images.append(batch["data"])
            self.targets += batch[self.key]
        self.data = np.vstack(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.transformed(Image.fromarray(self.data[index]), self.targets[index])


class ImageFolder(VisionDataset):
    """Images in one folder for each class."""

    def __init__(self, root, transform=None, target_transform=None):
        super().__init__(root, transform, target_transform)
        self.classes = sorted(e.name for e in os.scandir(self.root) if e.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {root}.")
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (str(path), number)
            for name, number in self.class_to_idx.items()
            for path in sorted((Path(self.root) / name).iterdir())
        ]
        self.imgs = self.samples
        self.targets = [number for _, number in self.samples]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self.transformed(Image.open(path).convert("RGB"), target)


class FakeData(VisionDataset):
    """Random images, the same for the same index."""

    def __init__(
        self,
        size=1000,
        image_size=(3, 224, 224),
        num_classes=10,
        transform=None,
        target_transform=None,
        random_offset=0,
    ):
        super().__init__("", transform, target_transform)
        self.size, self.image_size = size, image_size
        self.num_classes, self.random_offset = num_classes, random_offset

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index >= self.size:
            raise IndexError("FakeData index out of range")
        rng = np.random.default_rng(index + self.random_offset)
        channels, height, width = self.image_size
        values = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
        target = int(rng.integers(self.num_classes))
        return self.transformed(Image.fromarray(values), target)
