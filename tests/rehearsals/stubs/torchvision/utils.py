"""Grids of images, and images in files."""

import math

import torch
from PIL import Image


def make_grid(tensor, nrow=8, padding=2, normalize=False, pad_value=0.0, **options):
    if isinstance(tensor, list):
        tensor = torch.stack(tensor)
    if tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        tensor = tensor.unsqueeze(0)
    if tensor.size(1) == 1:
        tensor = tensor.repeat(1, 3, 1, 1)
    if normalize:
        low, high = float(tensor.min()), float(tensor.max())
        tensor = tensor.clone().sub_(low).div_(max(high - low, 1e-5))
    if tensor.size(0) == 1:
        return tensor.squeeze(0)
    count = tensor.size(0)
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = tensor.size(2) + padding, tensor.size(3) + padding
    shape = (tensor.size(1), height * rows + padding, width * columns + padding)
    grid = tensor.new_full(shape, pad_value)
    for number in range(count):
        top = (number // columns) * height + padding
        left = (number % columns) * width + padding
        place = grid[:, top : top + height - padding, left : left + width - padding]
        place.copy_(tensor[number])
    return grid


def save_image(tensor, fp, format=None, **options):
    grid = make_grid(tensor, **options)
    values = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0)
    Image.fromarray(values.to("cpu", torch.uint8).numpy()).save(fp)
