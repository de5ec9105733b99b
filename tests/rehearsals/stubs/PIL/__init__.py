"""Stands for Pillow: see the README of this folder."""

from PIL import Image

__all__ = ["Image"]
