"""The trace: the immutable record of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from shapewright.findings.finding import Finding
from shapewright.record import ops as lookup
from shapewright.record.formulas import Formulas
from shapewright.record.ops import (
    Assumption,
    ModuleCall,
    Op,
    Source,
    State,
    collect_leaves,
)
from shapewright.record.rows import list_module_rows, list_op_rows
from shapewright.record.totals import Totals, compute_totals

if TYPE_CHECKING:
    from shapewright.record.memory import Memory

renderers: dict[str, Callable[[Trace], str]] = {}
"""Functions that render a trace, by MIME type ("text/plain", "text/html").

Views are a layer above the record and register them when imported.
"""

table_renderers: list[Callable[..., str]] = []
"""The function behind `Trace.table`, which views register too."""


VIEWS = ("module", "op", "line")
"""What a row of a printed trace is."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """The complete record of a run. Immutable; needs no torch.

    Example::

        trace = sw.trace(LeNet(), "f32[1024, 1, 32, 32]")
        trace.module("conv1").output.shape      # (1024, 6, 28, 28)
        trace.line(21)[-1].outputs[0].shape     # (1024, 120)
        trace.totals.parameters                 # 61706

    `calls` are the module calls in the order in which they began; `states` are all
    parameters and buffers of the model, called or not. `complete` is False when the
    program did not reach its end; `findings` then says why. `seconds` is the time the
    run took. `ops` may be a lazy sequence: walk it once rather than index it.
    `formulas` says where formulas hold, for a trace whose sizes have some. `view` is
    what `print(trace)` shows: "module", "op" or "line". `measure` runs steps of the
    same call for `memory`; a trace that was read from a file has none.
    """

    target: str
    ops: Sequence[Op]
    calls: Sequence[ModuleCall]
    states: Sequence[State]
    output: Any
    findings: Sequence[Finding] = ()
    assumptions: Sequence[Assumption] = ()
    notes: Sequence[str] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    letters: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True
    training: bool = False
    seconds: float = 0.0
    torch_version: str = ""
    view: str = "module"
    formulas: Formulas | None = None
    measure: Callable[..., Memory] | None = field(default=None, repr=False)

    @property
    def modules(self) -> Sequence[ModuleCall]:
        """Return the module calls; the same as `calls`."""
        return self.calls

    @property
    def totals(self) -> Totals:
        """Return the parameters, FLOPs and memory of the run, recomputed at every
        access.
        """
        return compute_totals(self.ops, self.calls, self.states, self.complete)

    @property
    def real_bytes(self) -> int:
        """Return the bytes that a real run would have allocated: the model and all new
        tensors.
        """
        return self.totals.real_bytes

    def module(self, path: str, call: int = 1) -> ModuleCall:
        """Return a call of the module at `path`, the first by default.

        Example: ``trace.module("layer1.0.conv1").output.shape`` is
        ``(1, 64, 56, 56)``. Raises `NotInTrace`, a `KeyError` that names close paths.
        """
        return lookup.find_module(self.calls, self.states, path, call)

    def find(self, pattern: str) -> tuple[ModuleCall, ...]:
        """Return all module calls whose path matches a pattern such as ``"layer1.*"``.

        ``*`` stands for any text, dots included; no match is an empty tuple.
        """
        return lookup.find_modules(self.calls, pattern)

    def op(self, name: str | int, module: str | None = None, nth: int = 1) -> Op:
        """Return the op with that index, or the `nth` op of that name.

        Example: ``trace.op("linear", nth=2).outputs[0].shape`` is ``(1024, 84)``.
        ``"linear"`` finds ``F.linear`` too; `module` is a pattern for module paths.
        Raises `NotInTrace`, a `KeyError`.
        """
        return lookup.find_op(self.ops, name, module, nth)

    def by(self, view: Literal["module", "op", "line"]) -> Trace:
        """Return this trace as one that prints by module, by op or by line.

        Example: ``print(trace.by("op"))``.
        """
        if view not in VIEWS:
            raise ValueError(f"a trace is shown by {', '.join(VIEWS)}, not by {view!r}")
        return replace(self, view=view)

    def table(
        self,
        by: Literal["module", "op", "line"] | None = None,
        *,
        depth: int | None = None,
        sort: str = "",
        columns: Sequence[str] = (),
        width: int = 100,
    ) -> str:
        """Return the page that `print` shows, with other rows and columns.

        Example: ``print(trace.table(depth=1, sort="params"))``. `depth` is that of the
        innermost modules shown, as many as fit a screen by default; `sort` is "params",
        "flops" or "allocated", of ops "flops", "read" or "written"; `columns` are some
        of the table's. Raises `ValueError` for a key or column that there is not.
        """
        if not table_renderers:
            return repr(self)
        shown = self if by is None else self.by(by)
        return table_renderers[0](shown, depth, sort, tuple(columns), width)

    def __getattr__(self, name: str) -> Any:
        hint = _HABITS.get(name)
        raise AttributeError(f"a trace has no `{name}`{f'; {hint}' if hint else ''}")

    def rows(self, by: Literal["module", "op"] = "module") -> list[dict[str, Any]]:
        """Return a flat dict of plain values for each module call, or each op.

        Example: ``pandas.DataFrame(trace.rows()).sort_values("flops")``. Shapes are
        texts (`f32[8, 10]`), counts and bytes numbers.
        """
        if by not in VIEWS[:2]:
            raise ValueError(f"rows are by module or by op, not by {by!r}")
        if by == "op":
            return list_op_rows(self.ops)
        return list_module_rows(self.calls, self.totals.calls)

    def line(self, number: int, file: str | None = None) -> tuple[Op, ...]:
        """Return the ops written on a line of the program, in run order.

        `file` is needed only where several files have ops on that line; its end is
        enough (``"model.py"`` for ``"src/model.py"``).
        """
        return lookup.find_ops_of_line(self.ops, number, file)

    def memory(self, **options: Any) -> Memory:
        """Return what a step of the traced model takes, with the same inputs.

        Example: ``trace.memory(device="A100 40GB", autocast="bf16").peak.bytes``. The
        options are those of `shapewright.memory`, and the step is run for it: a trace
        does not say when tensors are freed. Raises `ValueError` if the trace was read
        from a file, or its model is gone.
        """
        if self.measure is None:
            raise ValueError(
                "this trace does not hold its model: write `sw.memory(model, ...)`"
            )
        return self.measure(**options)

    def to_json(self, indent: int | None = None) -> str:
        """Return the versioned record as JSON text, the input of `from_json`."""
        return _encode(self, indent)

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Read a trace that `to_json` wrote. Needs no torch.

        Raises `UnreadableTrace` with one sentence when the text is no trace, is
        damaged, or was written by a newer version.
        """
        return _decode(text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        names = (
            trace_field.name
            for trace_field in fields(self)
            if trace_field.name not in ("view", "measure")
        )
        return all(_is_same(self, other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inputs = self.calls[0].inputs if self.calls else ()
        into = ", ".join(map(str, collect_leaves(inputs)))
        out = ", ".join(map(str, collect_leaves(self.output)))
        flow = f"{into} -> {out}, " if into and out else ""
        state = "" if self.complete else ", incomplete"
        return (
            f"<Trace of {self.target}: {flow}{len(self.ops)} ops, "
            f"{len(self.calls)} module calls{state}; print() shows the table>"
        )

    def __str__(self) -> str:
        render = renderers.get("text/plain", repr)
        return render(self)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        """Return all forms that views have registered, for display in a notebook."""
        return {"text/plain": repr(self)} | {
            kind: render(self) for kind, render in renderers.items()
        }

    def _repr_html_(self) -> str | None:
        render = renderers.get("text/html")
        return None if render is None else render(self)


_HABITS = {
    "to_dataframe": "write `pandas.DataFrame(trace.rows())`",
    "to_pandas": "write `pandas.DataFrame(trace.rows())`",
    "df": "write `pandas.DataFrame(trace.rows())`",
    "to_csv": "write `pandas.DataFrame(trace.rows()).to_csv(file)`",
    "to_dict": "write `json.loads(trace.to_json())`",
    "save": "write `pathlib.Path(file).write_text(trace.to_json())`",
    "summary": "write `print(trace)`",
    "show": "write `print(trace)`, or `print(trace.table(depth=1))`",
    "layers": "its module calls are `trace.modules`",
    "shape": "the shape of its output is `trace.output.shape`",
    "shapes": "`trace.rows()` has the shapes of each module call",
    "inputs": "they are `trace.modules[0].inputs`",
    "outputs": "what it returned is `trace.output`",
    "flops": "they are `trace.totals.flops`",
    "parameters": "they are `trace.totals.parameters`",
}
"""What to write instead of a name that other tools have."""


def _is_same(trace: Trace, other: Trace, name: str) -> bool:
    mine, theirs = getattr(trace, name), getattr(other, name)
    if name in ("ops", "calls", "states", "findings", "assumptions", "notes"):
        return tuple(mine) == tuple(theirs)
    if name in ("sources", "letters"):
        return dict(mine) == dict(theirs)
    return bool(mine == theirs)


def _encode(trace: Trace, indent: int | None) -> str:
    """Convert a trace to JSON; ops refer by position to the tables at the end."""
    from shapewright.record import json_writer

    tables = json_writer.TableWriter()
    record = {
        "version": json_writer.VERSION,
        "kind": "trace",
        "target": trace.target,
        "torch": trace.torch_version,
        "complete": trace.complete,
        "training": trace.training,
        "seconds": trace.seconds,
        "letters": dict(trace.letters),
        "totals": json_writer.write_totals(trace.totals),
        "output": tables.nest(trace.output),
        "ops": [tables.op(at, op) for at, op in enumerate(trace.ops)],
        "calls": [tables.call(at, call) for at, call in enumerate(trace.calls)],
        "states": [tables.state(state) for state in trace.states],
        "findings": [json_writer.write_finding(finding) for finding in trace.findings],
        "assumptions": [
            json_writer.write_assumption(assumption) for assumption in trace.assumptions
        ],
        "notes": list(trace.notes),
        "sources": [
            json_writer.write_source(source) for source in trace.sources.values()
        ],
        **tables.rows(),
    }
    if trace.formulas is not None:
        record["formulas"] = json_writer.write_formulas(trace.formulas)
    separators = (",", ":") if indent is None else None
    return json.dumps(record, indent=indent, separators=separators, ensure_ascii=False)


def _decode(text: str | bytes) -> Trace:
    """Parse a trace from JSON text, ignoring fields unknown to this version."""
    from shapewright.record import json_reader, json_writer

    record = json_reader.parse_record(text)
    with json_reader.name_damages("trace", json_writer.UnreadableTrace):
        tables = json_reader.TableReader(record)
        sources = [Source(s["file"], s["sha256"], s["text"]) for s in record["sources"]]
        return Trace(
            target=record["target"],
            ops=tuple(tables.op(i, row) for i, row in enumerate(record["ops"])),
            calls=tuple(tables.call(i, row) for i, row in enumerate(record["calls"])),
            states=tuple(tables.state(row) for row in record["states"]),
            output=tables.nest(record["output"]),
            findings=tuple(map(json_reader.read_finding, record["findings"])),
            assumptions=tuple(map(json_reader.read_assumption, record["assumptions"])),
            notes=tuple(record["notes"]),
            sources={source.file: source for source in sources},
            letters=dict(record["letters"]),
            complete=record["complete"],
            training=record["training"],
            seconds=record["seconds"],
            torch_version=record["torch"],
            formulas=json_reader.read_formulas(record.get("formulas")),
        )
