"""Targets as text: read into data, nothing imported and nothing evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.inputs import target as expression
from shapewright.inputs.errors import InputError
from shapewright.inputs.target import Attribute, Call, Constant, Name, parse_target


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("model.py:Net", "file", "model.py"),
        ("a/b.py:Net(10)", "file", "a/b.py"),
        ("C:\\nets\\b.py:Net", "file", "C:\\nets\\b.py"),
        ("../my-nets/b.py: Net", "file", "../my-nets/b.py"),
        ("train.py", "script", "train.py"),
        ("pkg.models:build", "module", "pkg.models"),
        ("hf:config.json", "hf", "config.json"),
        ("hf:some/folder/", "hf", "some/folder/"),
        ("hf:../a-b/config.json(n_layer=2)", "hf", "../a-b/config.json"),
        ("hf:gpt2:GPT2LMHeadModel", "hf", "gpt2:GPT2LMHeadModel"),
        ("timm:resnet50.a1_in1k", "timm", "resnet50.a1_in1k"),
        ("torchvision:resnet18(num_classes=10)", "torchvision", "resnet18"),
    ],
)
def test_kinds_of_target(text: str, kind: str, place: str) -> None:
    target = parse_target(text)
    assert (target.kind, target.place, str(target)) == (kind, place, text)


def test_what_follows_the_colon() -> None:
    target = parse_target("model.py:Net(10, width=-2).encode")
    net = Call(Name("Net"), (Constant(10),), (("width", Constant(-2)),))
    assert target.expression == Attribute(net, "encode")


@pytest.mark.parametrize(
    "written",
    [
        "Net",
        "Net()",
        "Net(10, width=2).encode",
        "Net([1, 2], (3,), {'a': None}, {4}, b'x', 1j)",
        "GPT(Config(n_layer=2), dtype=torch.float16)",
    ],
)
def test_it_is_shown_as_it_was_written(written: str) -> None:
    found = parse_target(f"model.py:{written}").expression
    assert found is not None
    assert expression.format_expression(found) == written


MISTAKES = """\
a name is missing after the colon
  model.py:
           ^
`Net(` is not readable: '(' was never closed
  model.py:Net(
              ^
`Net 10` is not readable: invalid syntax
  model.py:Net 10
               ^
`1 + 2` is not evaluated: a target holds names, calls and literals
  model.py:Net(1+2)
               ^
`lambda: 0` is not evaluated: a target holds names, calls and literals
  model.py:Net(a=lambda: 0)
                 ^
`x[0]` is not evaluated: a target holds names, calls and literals
  model.py:Net('é', x[0])
                    ^
`**` is not read here
  model.py:Net(**{'a': 1})
                 ^
a target begins with a name
  model.py:'Net'
           ^
`my-pkg` is neither a file nor a module
  my-pkg:Net
  ^
`tim-m` is neither a file nor a module; did you mean `timm`?
  tim-m:resnet50
  ^
a name is missing after `hf:`
  hf:
     ^
a name is missing after `timm:`
  timm:(a=1)
       ^
settings of a config are given by name, as in `(n_layer=2)`
  hf:gpt2(2)
         ^
only arguments may follow the model's name
  timm:resnet50(a=1).conv1
               ^
"""


def blocks() -> list[tuple[str, str]]:
    lines = MISTAKES.splitlines()
    groups = [lines[at : at + 3] for at in range(0, len(lines), 3)]
    return [(group[1][2:], "\n".join(group)) for group in groups]


@pytest.mark.parametrize(
    ("target", "message"), [pytest.param(*each, id=each[0]) for each in blocks()]
)
def test_a_mistake_is_pointed_at(target: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_target(target)
    assert str(error.value) == message
    assert error.value.exit_code == 2


def test_no_target_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "nets").mkdir()
    said = {
        "": "the target is empty; write FILE.py:NAME",
        "model": "`model` names no object; did you mean `model.py:NAME`?",
        "config.json": "`config.json` is not a Python file;"
        " did you mean `hf:config.json`?",
        "notes.txt": "`notes.txt` is not a Python file; write FILE.py:NAME",
        "resnet": "`resnet` is not a target; write FILE.py:NAME, PACKAGE.MODULE:NAME"
        " or hf:NAME",
    }
    for text, message in said.items():
        with pytest.raises(InputError) as error:
            parse_target(text)
        assert error.value.message == message
