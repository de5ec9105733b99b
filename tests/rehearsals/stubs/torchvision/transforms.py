"""Transforms of images and tensors, with torchvision's results in shape and type."""

import random

import numpy as np
import torch
from PIL import Image


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class ToTensor:
    """(H, W) or (H, W, C) bytes to (C, H, W) floats from 0 to 1."""

    def __call__(self, image):
        array = np.asarray(image)
        if array.ndim == 2:
            array = array[:, :, None]
        tensor = torch.from_numpy(array.transpose(2, 0, 1).copy())
        return tensor.float().div(255) if tensor.dtype == torch.uint8 else tensor


class PILToTensor:
    def __call__(self, image):
        array = np.asarray(image)
        array = array[:, :, None] if array.ndim == 2 else array
        return torch.from_numpy(array.transpose(2, 0, 1).copy())


class ToPILImage:
    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, picture):
        if isinstance(picture, torch.Tensor):
            values = picture.mul(255).byte() if picture.is_floating_point() else picture
            picture = values.numpy().transpose(1, 2, 0)
        if picture.ndim == 3 and picture.shape[2] == 1:
            picture = picture[:, :, 0]
        return Image.fromarray(picture, self.mode)


class Normalize:
    def __init__(self, mean, std, inplace=False):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        mean = torch.as_tensor(self.mean, dtype=tensor.dtype).view(-1, 1, 1)
        std = torch.as_tensor(self.std, dtype=tensor.dtype).view(-1, 1, 1)
        return tensor.sub(mean).div_(std)


class Lambda:
    def __init__(self, function):
        self.function = function

    def __call__(self, image):
        return self.function(image)


def pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


class Resize:
    """One number is the shorter edge; two are height and width."""

    def __init__(self, size, interpolation=None, max_size=None, antialias=True):
        self.size = size

    def __call__(self, image):
        if isinstance(self.size, int):
            width, height = image.size
            short = min(width, height)
            width, height = width * self.size // short, height * self.size // short
        else:
            height, width = self.size
        return image.resize((width, height))


class CenterCrop:
    def __init__(self, size):
        self.size = pair(size)

    def __call__(self, image):
        height, width = self.size
        top = round((image.size[1] - height) / 2)
        left = round((image.size[0] - width) / 2)
        return image.crop((left, top, left + width, top + height))


class RandomCrop:
    def __init__(self, size, padding=0):
        self.size, self.padding = pair(size), padding

    def __call__(self, image):
        height, width = self.size
        edge = self.padding
        top = random.randint(-edge, max(image.size[1] + edge - height, -edge))
        left = random.randint(-edge, max(image.size[0] + edge - width, -edge))
        return image.crop((left, top, left + width, top + height))


class RandomResizedCrop:
    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
        self.size, self.scale = pair(size), scale

    def __call__(self, image):
        width, height = image.size
        part = random.uniform(*self.scale) ** 0.5
        inner = (max(int(height * part), 1), max(int(width * part), 1))
        cropped = RandomCrop(inner)(image)
        return cropped.resize((self.size[1], self.size[0]))


class RandomHorizontalFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image):
        if random.random() >= self.p:
            return image
        if isinstance(image, torch.Tensor):
            return image.flip(-1)
        return image.transpose(Image.FLIP_LEFT_RIGHT)


class Grayscale:
    def __call__(self, image):
        return image.convert("L")
