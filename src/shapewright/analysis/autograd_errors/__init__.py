"""Errors of torch's autograd, explained from the record of the run."""

from __future__ import annotations

from shapewright.analysis.autograd_errors.causes import Cause, find_cause

__all__ = ["Cause", "find_cause"]
