"""One test an operator, a model, a config class. `-k timm-resnet50` picks one."""

from __future__ import annotations

import importlib

import pytest

from zoo.conftest import asked

KINDS = {
    "operators": "zoo.operators",
    "variants": "zoo.variants",
    "overlaps": "zoo.overlaps",
    "maps": "zoo.maps",
    "random": "zoo.random_calls",
    "small": "zoo.small",
    "timm": "zoo.timm_models",
    "transformers": "zoo.transformers_models",
}


def items() -> list[object]:
    """All items of the kinds whose packages are installed."""
    found: list[object] = []
    for kind, module in KINDS.items():
        try:
            names = importlib.import_module(module).names()
        except ImportError:
            continue
        found += [pytest.param(module, name, id=f"{kind}-{name}") for name in names]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Importing other people's packages waits until the long coverage is asked for."""
    wanted = asked(metafunc.config)
    metafunc.parametrize(("module", "name"), items() if wanted else [])


def test_equals_torch(module: str, name: str) -> None:
    result = importlib.import_module(module).check(name)
    if module in ("zoo.operators", "zoo.variants", "zoo.overlaps"):
        wrong = ("silently-wrong", "raised-wrongly", "not-recorded")
        assert not {kind: result["counts"].get(kind, 0) for kind in wrong if
                    result["counts"].get(kind)}, result["exceptions"]  # fmt: skip
    elif module in ("zoo.maps", "zoo.random_calls"):
        bad = {kind: result["counts"].get(kind, 0) for kind in ("wrong", "failed")}
        assert not any(bad.values()), result["reasons"]
    elif module == "zoo.transformers_models":
        if result["verdict"] in ("not built", "refused for real"):
            pytest.skip(f"{result['verdict']}: {result['cause']}")
        assert result["verdict"] == "traced", result["cause"]
    else:
        assert result["verdict"] == "equal", result["cause"]
