"""Stands for six: see the README of this folder."""
