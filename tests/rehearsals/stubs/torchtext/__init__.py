"""Stands for torchtext: see the README of this folder."""
