"""Base models of transformers from default configs, with inputs that are right.

Every entry of transformers' own table of base models (605 in 5.23) is built from its
config class called without arguments, and traced to its end with inputs that the search
finds, else with those of `given_inputs.py`. A model that stops all the same is run for
real on the CPU (`real.py`): where the model or torch refuses there, too, the fault is
the model's.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch

from zoo import runner, torchvision_stub
from zoo.observe import TooSlow, time_limit

torchvision_stub.install()

import transformers  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto.modeling_auto import (  # noqa: E402
    MODEL_MAPPING,
    MODEL_MAPPING_NAMES,
)


def names() -> list[str]:
    """Model types that have a base model, in transformers' own order."""
    return list(MODEL_MAPPING_NAMES)


def model_class(name: str) -> Any:
    """The base model class of a model type."""
    found = MODEL_MAPPING[CONFIG_MAPPING[name]]
    return found[0] if isinstance(found, tuple | list) else found


def build(name: str) -> Any:
    """The base model of a model type, on meta, from a default config."""
    with torch.device("meta"):
        return made(name)


def made(name: str) -> Any:
    """The base model of a model type, wherever tensors are made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_class(name)(CONFIG_MAPPING[name]()).eval()


def without_initialisation() -> None:
    """Constructors stop drawing weights, for this process; shapes do not change."""
    transformers.PreTrainedModel.initialize_weights = lambda self: None


SECONDS = 120.0


def check(name: str) -> dict[str, Any]:
    """`verdict`: traced, failed, no input, refused for real, not built."""
    from zoo.finding import of_transformers

    before = searched_before(name)
    if before is not None and before["verdict"] == "found":
        kept = {key: before[key] for key in ("ops", "assumed") if key in before}
        known = {"input": before["spec"], "by": "search", **kept}
        return {"verdict": "traced", "cause": "", **known}
    without_initialisation()
    try:
        with time_limit(SECONDS):
            loaded = of_transformers(name)
    except (Exception, TooSlow, SystemExit) as error:
        return {"verdict": "not built", "cause": said(error), "bare": ""}
    try:
        with time_limit(SECONDS):
            result = traced(loaded, name)
    except (Exception, TooSlow, SystemExit) as error:
        result = {"verdict": "failed", "cause": f"raised {said(error)}"}
    if result["verdict"] == "traced":
        return result
    if result.get("input") and (really := for_real(name, result["input"])) != "ran":
        known = result.get("by") == "given"
        verdict = "refused for real" if known else "no input"
        return {**result, "verdict": verdict, "cause": really}
    return {**result, "verdict": "failed"}


def traced(loaded: Any, name: str) -> dict[str, Any]:
    """A trace on the inputs that the search finds, else on those that are given."""
    from shapewright.inputs.search import search_inputs
    from shapewright.inputs.spec import Candidate, parse_spec
    from zoo.given_inputs import GIVEN

    before = searched_before(name)
    with loaded.program.running(), torch.no_grad():
        if before is None:
            found = search_inputs(loaded)
            candidate = found.candidate if found is not None else None
            if found is not None and found.fits:
                return {"by": "search", **ours(loaded, found.candidate)}
        else:
            spec = before.get("spec", "")
            candidate = Candidate("found before", parse_spec(spec)) if spec else None
        if name in GIVEN:
            given = Candidate("given", parse_spec(GIVEN[name]))
            return {"by": "given", **ours(loaded, given)}
        if candidate is None:
            return {"verdict": "no input", "cause": "nothing to try", "by": ""}
        return {"by": "search", **ours(loaded, candidate)}


def searched_before(name: str) -> dict[str, Any] | None:
    """What the kind `finding` kept of a model, which it traced to its end if found."""
    kept = runner.load(runner.RESULTS / "finding.jsonl")
    return kept.get(f"transformers:{name}")


def for_real(name: str, spec: str) -> str:
    """`ran`, or what the model itself says of these inputs on the CPU."""
    from shapewright.inputs.spec import parse_spec
    from zoo import real

    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return real.run(real.built(lambda: made(name)), parse_spec(spec))
    except (Exception, TooSlow, SystemExit) as error:
        return f"not run for real: {said(error)}"


def said(error: BaseException) -> str:
    """An error in one line."""
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else ''}"[:200]


def ours(loaded: Any, candidate: Any) -> dict[str, Any]:
    """Trace on these inputs."""
    from shapewright.commands.trace import run_candidate
    from shapewright.runtime.run_record import RunRequest
    from zoo.ours import not_recorded

    trace = run_candidate(loaded, candidate, RunRequest()).trace
    errors = [finding for finding in trace.findings if finding.severity == "error"]
    lost = not_recorded(trace)
    result = {"input": str(candidate.inputs), "ops": len(trace.ops)}
    if lost:
        return {"verdict": "not recorded", "cause": lost[:200], **result}
    if trace.complete and not errors:
        told = [assumption.message for assumption in trace.assumptions]
        assumed = [each for each in told if not each.startswith("inputs: ")]
        return {"verdict": "traced", "cause": "", **result, "assumed": assumed}
    why = errors[0] if errors else None
    text = f"{why.code}: {why.message}" if why else "stopped without a finding"
    return {"verdict": "failed", "cause": text[:200], **result}
