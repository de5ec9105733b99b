"""Mistakes to plant in other people's training scripts, five in each, in five places.

A snippet is a piece of one line that says which line is meant; `A ... B` is the first
line with B after a line with A. Nothing of those files is kept but what finds a line.
"""

from rehearsals.mistakes import distributed, first, others, pictures
from rehearsals.mistakes.mistake import Mistake

__all__ = ["MISTAKES", "Mistake"]

MISTAKES = first.MISTAKES | pictures.MISTAKES | others.MISTAKES | distributed.MISTAKES
