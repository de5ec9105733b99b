"""Stands for torchvision: see the README of this folder."""

from torchvision import datasets, models, transforms, utils

__version__ = "0.0.0"
__all__ = ["datasets", "models", "transforms", "utils"]
