"""The record of one run: facts, ops, module calls, totals, and its JSON form."""

from shapewright.record.json_writer import UnreadableTrace
from shapewright.record.ops import (
    Assumption,
    Fact,
    ModuleCall,
    NotInTrace,
    Op,
    Source,
    State,
    collect_leaves,
)
from shapewright.record.totals import Subtotal, Totals
from shapewright.record.trace import Trace

__all__ = [
    "Assumption",
    "Fact",
    "ModuleCall",
    "NotInTrace",
    "Op",
    "Source",
    "State",
    "Subtotal",
    "Totals",
    "Trace",
    "UnreadableTrace",
    "collect_leaves",
]
