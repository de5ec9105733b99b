"""Build the first hypotheses about a target's arguments, and their alternatives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from shapewright.inputs.callables import Loaded, find_parameters
from shapewright.inputs.search.argument_options import (
    ArgumentEvidence,
    ArgumentOption,
    describe_layer,
)
from shapewright.inputs.search.argument_uses import ReachedLayer
from shapewright.inputs.search.docstrings import MASKS, MEANINGS, read_docstrings
from shapewright.inputs.search.function_bodies import walk_function
from shapewright.inputs.search.hypotheses import Hypothesis, Path, Tensor, map_tensors
from shapewright.inputs.search.layer_inputs import (
    find_kind,
    find_sizes,
    is_lazy,
    iter_tensors,
)


@dataclass(slots=True)
class Beginning:
    """What is known about a target before anything runs.

    `needed` are the required arguments, True for those passed by name; `left` are
    the optional ones.
    """

    evidence: ArgumentEvidence
    needed: dict[str, bool]
    left: list[str] = field(default_factory=list)

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Yield the likeliest hypothesis, and variants that change one argument."""
        choices = {
            name: self.evidence.options((name,), place)
            for place, name in enumerate(self.needed)
        }
        first = self.made({name: options[0] for name, options in choices.items()})
        yield first
        yield from _iter_image_copies(first)
        for name, options in choices.items():
            for option in options[1:]:
                yield self.changed(first, (name,), option, options[0].cost)

    def made(self, chosen: dict[str, ArgumentOption]) -> Hypothesis:
        """Return the hypothesis made of one option per argument."""
        sizes = dict(self.evidence.sizes)
        why = tuple(
            dict.fromkeys(option.why for option in chosen.values() if option.why)
        )
        cost = sum(option.cost for option in chosen.values())
        values = {name: option.value for name, option in chosen.items()}
        hypothesis = Hypothesis(values, sizes, frozenset(), why, cost)
        several = sum(1 for _ in hypothesis.tensors()) > 1
        if several:
            hypothesis = hypothesis.with_sizes({"B": 2})
        return self.named(settle_letters(hypothesis))

    def changed(
        self,
        before: Hypothesis,
        path: Path,
        option: ArgumentOption,
        instead: float = 0.0,
    ) -> Hypothesis:
        """Return a copy with another option for one argument."""
        cost = 1 + max(option.cost - instead, 0)
        hypothesis = before.with_value(path, option.value, option.why, cost)
        if before.sizes["B"] == 1 and sum(1 for _ in hypothesis.tensors()) > 1:
            hypothesis = hypothesis.with_sizes({"B": 2})
        if option.why and not before.arguments.keys() - {path[0]}:
            hypothesis = replace(hypothesis, why=(option.why,))
        return self.named(settle_letters(hypothesis))

    def alternatives(self, before: Hypothesis, path: Path) -> Iterator[Hypothesis]:
        """Yield copies with other options for one argument."""
        place = list(self.needed).index(path[0]) if path[0] in self.needed else 1
        options = self.evidence.options(path, place)
        present = repr(before.at(path))
        first = next((o.cost for o in options if repr(o.value) == present), 0.0)
        for option in options:
            if repr(option.value) != present:
                yield self.changed(before, path, option, first)

    def with_more(self, before: Hypothesis, name: str, cost: float) -> Hypothesis:
        """Return a copy with an additional optional argument."""
        options = self.evidence.options((name,), 1)
        value = next((o for o in options if o.value is not None), None)
        if value is None:
            return before
        hypothesis = before.with_value((name,), value.value, value.why, cost)
        return self.named(settle_letters(hypothesis))

    def wanted(self, name: str) -> bool:
        """Return whether the program uses an argument without checking it for None."""
        uses = self.evidence.uses.get((name,))
        return uses is not None and not uses.optional and (uses.used or uses.tensor)

    def named(self, hypothesis: Hypothesis) -> Hypothesis:
        """Pass arguments that follow an omitted argument by name."""
        by_name, missing = set(), False
        ordered = {}
        for name, parameter in self.evidence.parameters.items():
            if name in hypothesis.arguments:
                ordered[name] = hypothesis.arguments[name]
                if missing or parameter.kind is parameter.KEYWORD_ONLY:
                    by_name.add(name)
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                missing = True
        rest = {n: v for n, v in hypothesis.arguments.items() if n not in ordered}
        return replace(
            hypothesis, arguments={**rest, **ordered}, by_name=frozenset(by_name)
        )


def _iter_image_copies(hypothesis: Hypothesis) -> Iterator[Hypothesis]:
    """Yield copies in which an input has as many channels as usual images.

    The first convolution of a model may come after a cut into patches: then its
    channels are those of a patch.
    """
    for path, tensor in hypothesis.tensors():
        dims = tensor.dims
        if len(dims) != 4 or dims[2:] != ("H", "W"):
            continue
        channels = dims[1] if isinstance(dims[1], int) else hypothesis.sizes[dims[1]]
        if channels in IMAGE_CHANNELS:
            continue
        for n, usual in enumerate(IMAGE_CHANNELS):
            image = replace(tensor, dims=(dims[0], usual, *dims[2:]))
            why = f"`{path[-1]}` is an image of {usual} channel{'s' * (usual > 1)}"
            yield hypothesis.with_value(path, image, why, 0.5 + 0.2 * n)


IMAGE_CHANNELS = (3, 1, 4)
"""Numbers of channels of images, the likeliest first."""


def settle_letters(hypothesis: Hypothesis) -> Hypothesis:
    """Return a copy of a hypothesis in which every letter has a size."""
    missing = {
        dim: 16
        for _, tensor in hypothesis.tensors()
        for dim in tensor.dims
        if isinstance(dim, str) and dim not in hypothesis.sizes
    }
    return hypothesis.with_sizes(missing) if missing else hypothesis


def find_beginning(loaded: Loaded) -> Beginning | None:
    """Return what is known of a target's arguments, or None if it has none."""
    parameters = find_parameters(loaded)
    if parameters is None:
        empty = inspect.Parameter.empty
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = {"x": inspect.Parameter("x", kind, default=empty)}
    starred = {
        name
        for name, parameter in parameters.items()
        if parameter.kind is parameter.VAR_POSITIONAL
    }
    plain = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and name not in starred
    }
    names = [f"*{name}" if name in starred else name for name in parameters]
    uses = walk_function(loaded.callable, names)
    needed = {
        name: parameter.kind is parameter.KEYWORD_ONLY
        for name, parameter in plain.items()
        if parameter.default is parameter.empty
    }
    for name in starred:
        plain |= {
            f"*{name}{n}": inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)
            for n in range(4)
        }
        taken = [use for use in uses if str(use[0]).startswith(f"*{name}")]
        if taken or not needed:
            last = max((int(str(place[0])[-1]) for place in taken), default=0)
            needed |= {f"*{name}{n}": False for n in range(last + 1)}
    called = loaded.callable
    called = getattr(called, "forward", called)
    evidence = ArgumentEvidence(
        uses,
        read_docstrings(called, parameters, loaded.module, _find_config(loaded)),
        find_sizes(loaded.module, _find_config(loaded)),
        plain,
        _find_first_layer(loaded.module),
        loaded.module is None,
        patch=_find_patch(loaded.module),
    )
    left = [name for name, parameter in plain.items() if parameter.default is None]
    if not needed:
        left = sorted(left, key=lambda name: _rank_input(name, evidence))
        if not left:
            return None
        needed, left = {left[0]: False}, left[1:]
        evidence.main = next(iter(needed))
    return Beginning(evidence, needed, left)


def _rank_input(name: str, evidence: ArgumentEvidence) -> int:
    """Rank an input by how likely a target needs it; a lower rank is likelier."""
    if name in MASKS:
        return 3
    uses = evidence.uses.get((name,))
    if name in MEANINGS:
        if name.startswith(("inputs_embeds", "decoder_", "encoder_")):
            return 2
        return 0 if MEANINGS[name] is not None else 3
    if uses is None or not uses.used:
        return 2
    return 2 if uses.keys and not uses.layers else 1


def _find_config(loaded: Loaded) -> Any:
    """Return the config from which a model was built, or None."""
    if loaded.config is not None or loaded.module is None:
        return loaded.config
    held = vars(loaded.module)
    return next((held[n] for n in ("config", "cfg", "hparams") if n in held), None)


def _find_patch(module: Any) -> int:
    """Return the number of elements in a patch, from the first conv or linear layer."""
    layers = [] if module is None else list(module.modules())
    kinds = [(find_kind(layer) or "", layer) for layer in layers]
    met = [(n, layer) for n, layer in kinds if n.startswith("Conv") or n == "Linear"]
    met = [(n, layer) for n, layer in met if not is_lazy(layer)]
    if not met:
        return 0
    seen = [layer for n, layer in met if n in ("Conv2d", "Conv3d")]
    weight = seen[0].weight if seen else met[0][1].weight
    return int(weight.numel() // weight.shape[0])


def _find_first_layer(module: Any) -> tuple[tuple[Tensor, ...], str]:
    """Return the tensors that the first registered layer accepts, and the reason."""
    for path, layer in module.named_modules() if module is not None else ():
        tensors = tuple(iter_tensors(ReachedLayer(path, layer, ())))
        if tensors:
            return tensors, f"sizes by {describe_layer(path, layer)}"
        direct = [
            parameter
            for parameter in layer.parameters(recurse=False)
            if parameter.ndim == 2
        ]
        if direct and not hasattr(layer, "has_uninitialized_params"):
            rows, columns = direct[0].shape
            shapes = (("B", rows), ("B", columns), ("B", "T", rows))
            return tuple(map(Tensor, shapes)), f"sizes by {describe_layer(path, layer)}"
    return (), ""


__all__ = ["Beginning", "find_beginning", "map_tensors"]
