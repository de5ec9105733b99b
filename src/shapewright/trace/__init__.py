"""The record of one run: facts, ops, module calls, totals, and its JSON form."""

from shapewright.trace.fact import Fact
from shapewright.trace.lookup import NotInTrace
from shapewright.trace.module import ModuleCall, State, leaves
from shapewright.trace.op import Op
from shapewright.trace.record import Assumption, Source, Trace
from shapewright.trace.totals import Subtotal, Totals
from shapewright.trace.version import UnreadableTrace

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
    "leaves",
]
