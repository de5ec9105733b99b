"""Inputs found by search alone, for models whose inputs are known to exist.

Items are `timm:NAME`, `transformers:TYPE`, `models:CASE` (tests/models) and
`bugs:NAME` (the programs of tests/bugs that run); each also with `-renamed`: then the
arguments of `forward` are called a, b, c. What the author or the library declares is
not looked at: no `default_cfg`, no `dummy_inputs`, no `example_inputs`.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import random
import string
import tempfile
import textwrap
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from shapewright.inputs.callables import Loaded, make_loaded
from shapewright.inputs.python_files import ProgramFolder
from zoo.observe import TooSlow, time_limit

SECONDS = 120.0
SAMPLES = {"timm": 200}
"""Of so many models a sample is drawn; of other libraries all are taken."""
RENAMED = 60
"""Models of each library whose arguments are renamed."""
TESTS = Path(__file__).resolve().parents[1]


def names() -> list[str]:
    """Every item, the samples drawn with a seed, in the order of their names."""
    ours = [f"models:{case}" for case in small_cases()]
    ours += [f"bugs:{name}" for name in programs()]
    theirs = {library: sampled(library) for library in ("timm", "transformers")}
    found = ours + [
        f"{kind}:{each}" for kind, names in theirs.items() for each in names
    ]
    for kind, known in theirs.items():
        drawn = random.Random(0).sample(known, min(RENAMED, len(known)))
        ours += [f"{kind}:{name}" for name in sorted(drawn)]
    return found + [item.replace(":", "-renamed:", 1) for item in ours]


def small_cases() -> list[str]:
    from models import CASES

    return list(CASES)


def programs() -> list[str]:
    """Programs of tests/bugs that run as they stand and have a class `Model`."""
    found = []
    for path in sorted((TESTS / "bugs" / "labels").glob("*.toml")):
        kind = tomllib.loads(path.read_text(encoding="utf-8"))["kind"]
        text = (TESTS / "bugs" / "programs" / f"{path.stem}.py").read_text("utf-8")
        if kind != "error" and "class Model(" in text:
            found.append(path.stem)
    return found


def sampled(library: str) -> list[str]:
    """The library's models, or a sample of them."""
    try:
        if library == "timm":
            from zoo.timm_models import names as all_names
        else:
            from zoo.transformers_models import names as all_names
    except ImportError:
        return []
    known = all_names()
    count = min(SAMPLES.get(library, len(known)), len(known))
    return sorted(random.Random(0).sample(known, count))


def check(name: str) -> dict[str, Any]:
    """Search one item's inputs. `verdict`: found, not found, not built."""
    kind, _, place = name.partition(":")
    kind, renaming, _ = kind.partition("-renamed")
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = BUILDING[kind](place)
            if renaming:
                loaded = renamed(loaded, kind in ("timm", "transformers"))
    except (Exception, TooSlow, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return {"verdict": "not built", "cause": said[:200]}
    try:
        with time_limit(SECONDS):
            return searched(loaded)
    except (Exception, TooSlow, SystemExit) as error:
        said = f"raised {type(error).__name__}: {error}".splitlines()[0]
        return {"verdict": "not found", "cause": said[:200]}


def searched(loaded: Loaded) -> dict[str, Any]:
    """What the search finds, in how many runs, and what stops the best run."""
    from shapewright.commands.trace import run_candidate
    from shapewright.inputs.search import search_inputs
    from shapewright.runtime.run_record import RunRequest
    from zoo.ours import not_recorded

    with loaded.program.running(), torch.no_grad():
        found = search_inputs(loaded)
        if found is None:
            return {"verdict": "not found", "cause": "nothing to try"}
        trace = run_candidate(loaded, found.candidate, RunRequest()).trace
    said: dict[str, Any] = {"spec": str(found.candidate.inputs), "runs": found.runs}
    said["why"] = found.candidate.reason
    said["ops"] = len(trace.ops)
    told = [each.message for each in trace.assumptions]
    said["assumed"] = [each for each in told if not each.startswith("inputs: ")]
    errors = [each for each in trace.findings if each.severity == "error"]
    if lost := not_recorded(trace):
        return {"verdict": "not found", "cause": lost[:200], **said}
    if trace.complete and not errors:
        return {"verdict": "found", **said}
    cause = f"{errors[0].code}: {errors[0].message}" if errors else "stopped"
    return {"verdict": "not found", "cause": cause[:200], **said}


def bare(model: Any, name: str) -> Loaded:
    """A model with nothing declared."""
    return replace(make_loaded(model, name, ProgramFolder(TESTS)), examples=())


def small(place: str) -> Loaded:
    from models import CASES

    return bare(CASES[place]()[0], place)


def program(place: str) -> Loaded:
    from shapewright.inputs.target import parse_target
    from shapewright.inputs.target_objects import load_target

    file = TESTS / "bugs" / "programs" / f"{place}.py"
    return replace(load_target(parse_target(f"{file}:Model")), examples=())


def of_timm(place: str) -> Loaded:
    from zoo.timm_models import build

    return bare(build(place), place)


def of_transformers(place: str) -> Loaded:
    from shapewright.runtime.model_building import build_without_data
    from zoo.transformers_models import made, without_initialisation

    without_initialisation()
    with build_without_data(put_back=False):
        model = made(place)
    return replace(bare(model, place), config=model.config)


BUILDING = {
    "models": small,
    "bugs": program,
    "timm": of_timm,
    "transformers": of_transformers,
}


# -- names that say nothing ---------------------------------------------------------


def renamed(loaded: Loaded, hidden: bool) -> Loaded:
    """The same with arguments a, b, c: by rewriting its text, or behind a wrapper."""
    model = loaded.module
    if model is None:
        return loaded
    if not hidden:
        try:
            rewritten(model)
        except (OSError, TypeError, SyntaxError):
            hidden = True
    if hidden:
        model = wrapper(model)
    return replace(loaded, callable=model, module=model)


def letters() -> Iterator[str]:
    for size in itertools.count(1):
        for each in itertools.product(string.ascii_lowercase, repeat=size):
            yield "".join(each)


class Renamer(ast.NodeTransformer):
    """Names in one function."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.generic_visit(node)
        node.arg = self.names.get(node.arg, node.arg)
        return node


def rewritten(model: nn.Module) -> None:
    """`forward` with the arguments renamed in its text, comments gone."""
    forward = type(model).forward
    tree = ast.parse(textwrap.dedent(inspect.getsource(forward)))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    taken = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)}
    free = (name for name in letters() if name not in taken)
    given = [*function.args.posonlyargs, *function.args.args][1:]
    given += function.args.kwonlyargs
    given += [one for one in (function.args.vararg, function.args.kwarg) if one]
    Renamer({each.arg: next(free) for each in given}).visit(function)
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:] or [ast.Pass()]
    function.decorator_list = []
    text = ast.unparse(ast.fix_missing_locations(tree))
    namespace = compiled(text, forward)
    kind = type(type(model).__name__, (type(model),), {"forward": namespace["forward"]})
    kind.__module__ = type(model).__module__
    model.__class__ = kind


def compiled(text: str, original: Any) -> dict[str, Any]:
    """A function's text run in the globals and closure of the original."""
    place = Path(tempfile.mkdtemp(prefix="renamed")) / "renamed.py"
    place.write_text(text, encoding="utf-8")
    linecache.checkcache(str(place))
    closed = inspect.getclosurevars(original).nonlocals if original.__closure__ else {}
    namespace = {**original.__globals__, **closed}
    exec(compile(text, str(place), "exec"), namespace)
    return namespace


def wrapper(model: nn.Module) -> nn.Module:
    """A module whose `forward` hands a, b, c on by their real names."""
    empty = inspect.Parameter.empty
    free, given, handed = letters(), [], []
    for name, parameter in inspect.signature(model.forward).parameters.items():
        plain = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if plain and parameter.default in (None, empty):
            letter = next(free)
            given.append(letter if parameter.default is empty else f"{letter}=None")
            handed.append(f"{name}={letter}")
    lines = [
        f"def forward(self, {', '.join(given)}):",
        f"    return self.inner({', '.join(handed)})",
    ]

    def forward() -> None: ...

    namespace = compiled("\n".join(lines) + "\n", forward)
    kind = type("Wrapper", (nn.Module,), {"forward": namespace["forward"]})
    made = kind()
    made.inner = model
    made.train(model.training)
    return made
