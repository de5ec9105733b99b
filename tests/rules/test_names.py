"""Rules stand under the names by which a function mode meets torch's functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from oracle import Checking, TensorMeta, check, resolve, rule_of

from shapewright.operators import metadata_rules
from shapewright.operators.metadata_rules import Misfit, Rule, setting


@pytest.mark.parametrize("name", metadata_rules.RULES)
def test_name_is_a_function_of_torch(name: str) -> None:
    assert callable(resolve(name))


OPERATORS = """
x + 1; 1 + x; x - 1; 1 - x; x * 2; 2 * x; x / 2; 2 / x; x // 2; 2 // x; x % 2;
2 % x; x ** 2; 2 ** x; -x; abs(x); ~m; x < 1; 1 <= x; x == 1; x != x; m & m;
m | m; m ^ m; i << 1; 1 << i; i >> 1; x.add(1); x.sub_(1); x.mul(x); x.relu_();
F.relu(x); F.relu(x, inplace=True); F.gelu(x); F.silu(x); F.elu(x); F.mish(x);
F.leaky_relu(x); F.hardtanh(x); F.hardswish(x); F.softplus(x); F.dropout(x, 0.1);
F.sigmoid(x); F.tanh(x); F.logsigmoid(x); F.relu6(x); F.selu(x); F.celu(x);
F.softsign(x); F.tanhshrink(x); F.hardshrink(x); F.softshrink(x); F.hardsigmoid(x);
F.threshold(x, 0.1, 1); F.normalize(x); x.norm(); torch.norm(x); x.std(); x.all();
torch.where(m, x, x); x.masked_fill(m, 0); torch.zeros(2, 3); torch.zeros_like(x);
x.max(); x.max(0); x.argmax(1); x.cumsum(0); torch.clamp(x, 0, 1); x.clone();
"""


@pytest.mark.parametrize("code", [one.strip() for one in OPERATORS.split(";")[:-1]])
def test_call_as_written_has_a_rule_that_agrees(code: str) -> None:
    x = torch.full((2, 3), 0.5)
    names = {"x": x, "m": x > 0, "i": x.long() + 1, "F": F, "torch": torch}
    with Checking() as checking:
        eval(code, names)
    assert checking.tally.counts == {"equal": 1}, checking.tally.wrong


def test_default_dtype_decides_what_integers_become(monkeypatch: Any) -> None:
    monkeypatch.setattr(setting, "default_dtype", "float64")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        count = torch.arange(6).view(2, 3)
        for func in (torch.sqrt, torch.mean, torch.logsumexp, torch.true_divide):
            more = {torch.true_divide: (2,), torch.logsumexp: (1,)}.get(func, ())
            given = count.float() if func is torch.mean else count
            assert check(func, (given, *more)).status == "equal"
        assert check(torch.zeros, (2, 3)).status == "equal"
        assert check(torch.full, ((2, 3), 1.5)).status == "equal"
        assert check(torch.add, (count, 1.5)).status == "equal"
    finally:
        torch.set_default_dtype(before)


def test_misfit_says_what_torch_says() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.add(torch.ones(2, 3), torch.ones(4))
    rule = metadata_rules.RULES["torch.add"]
    metas = TensorMeta((2, 3), (3, 1), "float32"), TensorMeta((4,), (1,), "float32")
    with pytest.raises(Misfit) as misfit:
        rule.metadata(*metas)
    assert str(misfit.value) == str(caught.value)


def test_the_oracle_sees_wrong_answers(monkeypatch: Any) -> None:
    found = rule_of(torch.tanh)
    assert found is not None
    wrong = found[1].metadata(TensorMeta((3, 2), (2, 1), "float32"))
    stubborn = Rule(("torch.tanh",), lambda input: wrong)
    monkeypatch.setattr("oracle.rule_of", lambda func: ("torch.tanh", stubborn))
    assert check(torch.tanh, (torch.ones(3, 2),)).status == "equal"
    assert check(torch.tanh, (torch.ones(2, 3),)).status == "wrong"
    assert check(torch.tanh, (torch.ones(2, 3).t(),)).status == "wrong"
    assert check(torch.tanh, (torch.ones(3, 2).double(),)).status == "wrong"
