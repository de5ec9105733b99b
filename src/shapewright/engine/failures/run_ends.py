"""The end of a run: its error, the names in its frame, and its findings."""

from __future__ import annotations

import linecache
import os
import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from shapewright.engine.absence import UNFOLLOWED, NotHere, ValueNotHere
from shapewright.engine.call_sites import USER, Positions
from shapewright.engine.engine import Engine
from shapewright.engine.event_record import Fold, find_innermost
from shapewright.engine.identity import Info
from shapewright.findings.codes import (
    NOT_HERE,
    PROGRAM_ERROR,
    PROGRAM_EXIT,
    TIMEOUT,
    TORCH_ERROR,
)
from shapewright.findings.finding import Finding, Related, Severity
from shapewright.operators.failed_calls import Ending
from shapewright.program.source_text import SourceText
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import get_last_line

MOST = 400
"""Largest number of names that are kept."""
LONGEST = 60
"""Characters of a text, and members of a tuple, that are kept."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The names of a frame, before tensors have their numbers in the record."""

    error: str
    message: str
    tensors: dict[str, Info]
    values: dict[str, Any]
    library: bool
    libraries: tuple[str, ...] = ()

    def ending(self, fold: Fold) -> Ending:
        """Return the same variables with the facts of the record, once it is read."""
        tensors = {name: fold.fact(info) for name, info in self.tensors.items()}
        return Ending(
            self.error,
            self.message,
            tensors,
            self.values,
            self.library,
            self.libraries,
        )


def freeze_names(engine: Engine, error: BaseException) -> Frozen | None:
    """Return the values of the variables in the innermost frame of the program."""
    frame: FrameType | None = None
    libraries: tuple[str, ...] = ()
    where = error.__traceback__
    while where is not None:
        if engine.sites.kind_of(where.tb_frame.f_code) == USER:
            frame = where.tb_frame
            file = frame.f_code.co_filename
            libraries = (*libraries, file) if is_installed(file) else ()
        where = where.tb_next
    if frame is None:
        return None
    tensors: dict[str, Info] = {}
    values: dict[str, Any] = {}
    for name, value in _iter_named_values(dict(frame.f_locals)):
        if len(tensors) + len(values) >= MOST:
            break
        if isinstance(value, torch.Tensor):
            tensors[name] = engine.info(value)
        elif _is_plain(value):
            values[name] = tuple(value) if isinstance(value, torch.Size) else value
    library = is_installed(frame.f_code.co_filename)
    kind = type(error).__name__
    return Frozen(kind, str(error), tensors, values, library, libraries)


def _iter_named_values(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each variable with its value, and its attributes and items by path."""
    for name, value in names.items():
        yield name, value
        if isinstance(value, list | tuple | nn.ModuleList):
            yield f"len({name})", len(value)
        if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
            for n, item in enumerate(value[:LONGEST]):
                yield f"{name}[{n}]", item
        if type(value) is dict:
            for key, item in list(value.items())[:LONGEST]:
                if type(key) is str:
                    yield f"{name}['{key}']", item
                    yield f'{name}["{key}"]', item
    for name, value in names.items():
        if isinstance(value, ModuleType) and "__version__" in vars(value):
            yield f"{name}.__version__", value.__version__
        if isinstance(value, SimpleNamespace | Namespace) or is_dataclass(value):
            for key, item in getattr(value, "__dict__", {}).items():
                yield f"{name}.{key}", item
        if isinstance(value, nn.Module):
            held = dict(vars(value))
            for part in ("_parameters", "_buffers"):  # none before `__init__` has run
                held.update(held.get(part) or {})
            for attribute, item in held.items():
                yield f"{name}.{attribute}", item
        yield from _iter_group_counts(name, value)
    for name, value in names.items():
        if isinstance(value, nn.Module) and "_modules" in vars(value):
            for path, parameter in _iter_inner_parameters(value):
                yield f"{name}.{path}", parameter


def _iter_group_counts(name: str, value: Any) -> Iterator[tuple[str, int]]:
    """Yield how many groups of parameters an optimizer has, or its state in a dict."""
    if isinstance(value, torch.optim.Optimizer):
        yield f"len({name}.param_groups)", len(value.param_groups)
    if type(value) is dict:
        for path, state in [(name, value), *_iter_states(name, value)]:
            groups = state.get("param_groups")
            if isinstance(groups, list):
                yield f'len({path}["param_groups"])', len(groups)


def _iter_states(name: str, value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the dicts in a dict, each by the expression that reads it."""
    for key, item in value.items():
        if type(key) is str and type(item) is dict:
            yield f'{name}["{key}"]', item


def _iter_inner_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters of the modules in a module, by path."""
    try:
        named = list(module.named_parameters())
    except Exception:  # a constructor inside that has not run, or its own method
        return
    yield from (entry for entry in named if "." in entry[0])


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a short string or short tuple of numbers."""
    if isinstance(value, tuple):
        few = len(value) <= LONGEST
        return few and all(type(item) in (int, float, bool) for item in value)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return type(value) in (int, float, bool)


def _find_exit_reason(error: BaseException) -> str:
    """Return the message with which argparse ended the program, without the usage."""
    where = error.__traceback__
    while where is not None:
        code = where.tb_frame.f_code
        if code is ArgumentParser.exit.__code__:
            message = str(where.tb_frame.f_locals.get("message") or "").strip()
            return message.partition(": error: ")[2] or message
        where = where.tb_next
    return ""


CALLERS = 3
"""Calls around an error that are named."""


OF_KINDS = (TypeError, LookupError, AttributeError, ValueError)
"""What a program may raise of a batch that is not as it expects it."""


class Stopped(BaseException):
    """Raised when the allowed time has passed."""


def _find_refused_value(error: BaseException) -> ValueNotHere | None:
    """Return the value of what is not here that compiled code refused, if any."""
    where, text = error.__traceback__, get_message(error)
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is None or not isinstance(error, TypeError | ValueError):
        return None
    for value in where.tb_frame.f_locals.values():
        if isinstance(value, ValueNotHere) and type(value).__name__ in text:
            return value
    return None


def collect_findings(
    engine: Engine, fold: Fold, error: BaseException | None, positions: Positions
) -> list[Finding]:
    """Return the findings of a run, followed by the error that ended it."""
    findings = _collect_met_findings(engine, fold)
    if error is not None and not _is_after_change(error, engine):
        findings.append(make_failure(error, engine, positions))
    return findings


def _collect_met_findings(engine: Engine, fold: Fold) -> list[Finding]:
    """Yield each finding once per line of the program, however often it occurred."""
    findings: dict[tuple[Any, ...], Finding] = {}
    for (code, message, place), (torch_message, count) in engine.findings.items():
        span, module = fold.place(*place)
        key = (code, message, span)
        if key in findings:
            findings[key] = replace(findings[key], count=findings[key].count + count)
        else:
            findings[key] = Finding(
                code, "error", message, span, module, torch_message, count=count
            )
    return list(findings.values())


def _is_after_change(error: BaseException, engine: Engine) -> bool:
    """Return whether an error occurred in a loop whose batches the run has replaced."""
    where = error.__traceback__ if isinstance(error, OF_KINDS) else None
    while where is not None:
        for file, line in engine.replaced:
            if file == where.tb_frame.f_code.co_filename:
                text = SourceText(file, "".join(linecache.getlines(file)))
                ends = [get_last_line(loop) for loop in text.for_loops(line)]
                if line <= where.tb_lineno <= max(ends, default=0):
                    return True
        where = where.tb_next
    return False


def get_message(error: BaseException) -> str:
    """Return an exception's message, with the name that may be meant behind it, as
    Python prints it; the `str` of its class may itself raise.
    """
    try:
        message = str(error).strip()
        meant = _find_meant_name(error)
    except Exception:  # the program's `__str__`, or its `__dir__`
        return ""
    return f"{message}. Did you mean: '{meant}'?" if meant else message


ALIKE = 0.75
"""How much of two names has to be the same for one to stand for the other."""


def _find_meant_name(error: BaseException) -> str:
    """Return the name that is hardly another than one that is not known, or nothing."""
    missing = NO_NODE.search(str(error))
    if missing is not None:
        return _find_meant_node(error, missing[1])
    wrong = getattr(error, "name", None)
    if not isinstance(wrong, str) or wrong.startswith("_"):
        return ""
    names: Iterable[str] = ()
    if isinstance(error, AttributeError) and getattr(error, "obj", None) is not None:
        names = dir(error.obj)
    elif isinstance(error, NameError):
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        if where is not None:
            names = {*where.tb_frame.f_locals, *where.tb_frame.f_globals}
    known = [
        name
        for name in names
        if not name.startswith("_") and name[:1].isupper() == wrong[:1].isupper()
    ]
    return next(iter(get_close_matches(wrong, known, 1, ALIKE)), "")


NO_NODE = re.compile(r"^node: '([\w.]+)' is not present in model")


def _find_meant_node(error: BaseException, wrong: str) -> str:
    """Return the only node of a traced model, or the only module around some, that is
    hardly called otherwise, or nothing.
    """
    where = error.__traceback__
    nodes: list[str] = []
    while where is not None:
        held = where.tb_frame.f_locals.get("available_nodes")
        nodes = [str(node) for node in held] if isinstance(held, list) else nodes
        where = where.tb_next
    known = {
        ".".join(parts[:end])
        for parts in (node.split(".") for node in nodes)
        for end in range(1, len(parts) + 1)
    }
    alike = get_close_matches(wrong, sorted(known), 2, ALIKE)
    shares = [SequenceMatcher(None, name, wrong).ratio() for name in alike]
    return alike[0] if shares and shares[0] > max(shares[1:], default=0.0) else ""


UNFIT = (ValueError, LookupError, AssertionError, ArithmeticError, TypeError, EOFError)
"""What programs raise whose data are not as they expect."""


CALLED_WRONGLY = re.compile(r"\w+\(\) (takes|got|missing) .*argument")
"""What Python says of a call that does not fit a signature: no data are to blame."""


OF_SHAPES = re.compile(
    r"^Cannot handle this data type: \(1, 1, \d+\)"
    r"|^All arrays must be of the same length|^Length of values \(\d+\) does not match"
    r"|^invalid index to scalar variable"
    r"|inconsistent numbers of samples|must have same first dimension"
    r"|^multi_class must be in|^Invalid shape \([\d, ]+\) for image data"
)
"""What libraries say of an array's shape, which rests on no value."""
OF_STEPS = re.compile(
    r"^'(?:float|int|Tensor|ndarray|Series|DataFrame)' object (?:has no att|is not)"
    r"|^expected Tensor as element"
    r"|^X has \d+ features|instance is not fitted yet|^Cannot cast ufunc"
    r"|^cannot write mode \w+ as|^The truth value of|^Target is multi"
    r"|^Expected \d+ lr_lambdas|^unsupported format string passed to (?:list|tuple)\."
    r"|^must be real number, not (?:list|tuple)$"
)
"""What is said of the kind of a value, of the program's steps, or of their order, which
rests on no number either.
"""


OF_SCALERS = f"{os.sep}sklearn{os.sep}preprocessing{os.sep}"
OF_COLUMNS = re.compile(
    r"non-broadcastable output operand with shape \((\d+),1\) .*shape \(\1,\d+\)"
    r"|operands could not be broadcast together with shapes \(\d+,\d+\) \(\d+,\)"
)
"""What NumPy says of rows that have other columns than a scaler was fitted on."""


def _is_of_columns(error: BaseException) -> bool:
    """Return whether a scaler was given rows of another number of columns."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    is_there = where is not None and OF_SCALERS in where.tb_frame.f_code.co_filename
    return is_there and OF_COLUMNS.search(get_message(error)) is not None


def _find_doubtful_stand_in(engine: Engine) -> str:
    """Return the last file for which something stands that nothing documents."""
    stand_ins = [
        what
        for whats in engine.stand_ins.values()
        for what, basis in whats
        if basis in ("assumed", "read") and not what.startswith("the package")
    ]
    return stand_ins[-1] if stand_ins else ""


def is_own(error: BaseException, engine: Engine) -> bool:
    """Return whether the program raised the error, directly or by `torch._assert`."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    asserted = where is not None and where.tb_frame.f_code is torch._assert.__code__
    return error is not engine.error or asserted


def make_failure(error: BaseException, engine: Engine, positions: Positions) -> Finding:
    """Return the finding for the error that ended the program, at the user's line."""
    frames = []
    where = error.__traceback__
    while where is not None:
        code = where.tb_frame.f_code
        if engine.sites.kind_of(code) == USER:
            frames.append(positions.frame(code, where.tb_lasti))
        where = where.tb_next
    if isinstance(error, RecursionError) and frames:
        frames = [Counter(frames).most_common(1)[0][0]]  # where the circle closes
    span = find_innermost(tuple(frames))
    text = get_message(error)
    first = text.splitlines()[0] if text else ""
    kind = type(error).__name__
    severity: Severity = "error"
    if isinstance(error, SystemExit):
        code_ = PROGRAM_EXIT
        code_text = "" if error.code is None else repr(error.code)
        call = getattr(error, "call", "sys.exit")
        message = f"the program called `{call}({code_text})`"
        reason = _find_exit_reason(error)
        message += f": {reason}" if reason else ""
    elif isinstance(error, RecursionError):
        code_, message = (
            PROGRAM_ERROR,
            "`RecursionError`: maximum recursion depth exceeded",
        )
    elif isinstance(error, NotHere):
        code_, message = NOT_HERE, text
    elif (refused := _find_refused_value(error)) is not None:
        code_, message = NOT_HERE, refused._write_question("this call")
    elif (unfollowed := UNFOLLOWED.search(text)) is not None:
        code_, severity = NOT_HERE, "note"
        message = (
            f"`{unfollowed[1]}` of a sparse tensor without data is not known to torch:"
            " the run ends here, and not in the program's own"
        )
    elif isinstance(error, Stopped):
        code_, message = TIMEOUT, first or "the time limit was reached"
    elif not is_own(error, engine):
        code_, message = TORCH_ERROR, first or kind
    else:
        code_, message = PROGRAM_ERROR, f"`{kind}`: {first}" if first else f"`{kind}`"
        of_value = not (OF_SHAPES.search(first) or OF_STEPS.search(first))
        of_value &= not getattr(error, "of_folder", False)  # whatever its name
        of_value &= not _is_of_columns(error)
        if engine.rests and of_value:
            severity = "note"
            message += "; this rests on a value that was assumed"
        doubtful = _find_doubtful_stand_in(engine)
        if doubtful and isinstance(error, UNFIT) and not CALLED_WRONGLY.search(first):
            code_ = NOT_HERE
            message += (
                f"; this may come from what stands for {doubtful}, which is not on this"
                " machine: `--data` says what it holds"
            )
    torch_message = f"{kind}: {text}" if text else kind
    callers = [
        frame.span
        for frame in reversed(frames[:-1])
        if frame.span != span and not is_installed(frame.span.file)
    ]
    related = tuple(Related(caller, "called from here") for caller in callers[:CALLERS])
    return Finding(
        code_, severity, message, span, torch_message=torch_message, related=related
    )
