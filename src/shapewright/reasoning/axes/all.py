"""Importing this registers how axes go through every family of ops."""

from shapewright.reasoning.axes import joining as joining
from shapewright.reasoning.axes import layers as layers
from shapewright.reasoning.axes import moving as moving
from shapewright.reasoning.axes import products as products
from shapewright.reasoning.axes import reducing as reducing
