"""The complete engine of a run: `Engine` with the methods that answer calls.

`engine.Engine` holds the state of a run and is passed to all parts of the engine. Parts
that depend on each other in a circle call each other through the methods defined here.
"""

from __future__ import annotations

from typing import Any

from shapewright.engine import nests
from shapewright.engine.devices import find_claimed_device
from shapewright.engine.dispatch import memory_overlap, ordinary_calls, torch_answers
from shapewright.engine.dispatch.plans import find_plan
from shapewright.engine.engine import Args, Engine, Kwargs, Plan
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import Info
from shapewright.engine.layers.nested_tensors import answer_padded_call, find_refusal
from shapewright.record.ops import NOT_RECORDED


class Mode(Engine):
    """The function mode that answers the calls of a run."""

    def plan_for(self, func: Any) -> Plan:
        plan: Plan = find_plan(func)
        if self.verify:
            from shapewright.engine.self_check import check_plan

            plan = check_plan(plan)
        if self.inside:
            from shapewright.engine.inner_kernels import note_kernels

            plan = note_kernels(plan)
        if self.failures is not None:
            from shapewright.engine.failures.continuation import continue_after_refusals

            plan = continue_after_refusals(plan)
        if self.watch is not None:
            plan = self.watch(plan)
        if self.comparisons is not None:
            from shapewright.engine.tracked_sizes.size_reads import watch_reads

            plan = watch_reads(plan, func, self.comparisons)
        return plan

    def call_op(self, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
        return ordinary_calls.call_op(self, func, args, kwargs)

    def ask_torch(
        self,
        func: Any,
        name: str,
        args: Args,
        kwargs: Kwargs,
        infos: list[Info],
        key: tuple[Any, ...] | None,
    ) -> Any:
        return torch_answers.ask_torch(self, func, name, args, kwargs, infos, key)

    def call_of_padded(self, func: Any, args: Args, kwargs: Kwargs) -> Any:
        return answer_padded_call(self, func, args, kwargs)

    def check_overlap(
        self, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
    ) -> None:
        memory_overlap.check_overlap(self, func, name, args, kwargs, infos)

    def refusal_of(
        self, error: Exception, args: Args, kwargs: Kwargs | None
    ) -> Exception:
        return find_refusal(error, args, kwargs)

    def fault(
        self, error: Exception, func: Any, args: Any, kwargs: dict[str, Any] | None
    ) -> Any:
        """Handle an internal error: note it and let torch run the call, unrecorded."""
        name = get_plain_name(func)
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        line = f"{where.tb_frame.f_code.co_name}:{where.tb_lineno}" if where else "?"
        reason = f"{type(error).__name__}: {error}; at {line}"
        self.note(f"{NOT_RECORDED}: {name} ({reason})")
        physical = nests.swap_tensors((args, kwargs or {}), self.blank_of)
        out = self.run(func, *nests.replace_devices(physical))
        infos = [
            self.info(tensor) for tensor in nests.collect_tensors((args, kwargs or {}))
        ]
        claim = find_claimed_device(self, infos, kwargs or {})
        for tensor in nests.collect_tensors((out,)):
            if not self.known(tensor):
                self.adopt(tensor, claim)
        return out
