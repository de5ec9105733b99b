"""A target that cannot be used, or whose own code fails: one sentence, right place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inputs.programs import MODEL, loaded, write
from shapewright.inputs.errors import InputError, ProgramError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, model=MODEL, sizes="WIDTH = 3", late="FACTOR = 2")
    return tmp_path


DEFINED = (
    "it defines modules `Net`, `Needs`, `FromConfig`, `net`; classes `Config`, `Tool`;"
    " functions `build`, `loss`, `made`, `network_report`"
)

MISTAKES = {
    "modle.py:Net": "no such file: `modle.py`; did you mean `model.py`?",
    "xyz.py:Net": "no such file: `xyz.py`; the folder has `late.py`, `model.py`,"
    " `sizes.py`",
    "nets/model.py:Net": "no such file: `nets/model.py` (there is no folder `nets`)",
    "model.py:Nett": "`model.py` does not define `Nett`; did you mean `Net`?"
    f" ({DEFINED})\n  model.py:Nett\n           ^",
    "model.py:Qqqq": f"`model.py` does not define `Qqqq` ({DEFINED})"
    "\n  model.py:Qqqq\n           ^",
    "sizes.py:Net": "`sizes.py` does not define `Net` (it defines nothing to call)"
    "\n  sizes.py:Net\n           ^",
    "model.py:Net(widht)": "`model.py` does not define `widht`; did you mean `WIDTH`?"
    f" ({DEFINED})\n  model.py:Net(widht)\n               ^",
    "model.py:Needs": "`Needs` needs `hidden`, `depth`; it is"
    " `Needs(hidden: int, *, depth)`; write `model.py:Needs(hidden=..., depth=...)`",
    "model.py:Needs.encode": "`Needs` has no `encode`\n  model.py:Needs.encode"
    "\n                 ^",
    "model.py:Needs(1, 2)": "`Needs(1, 2)` does not fit `Needs(hidden: int, *, depth)`:"
    " too many positional arguments\n  model.py:Needs(1, 2)\n                ^",
    "model.py:Net(hiden=1)": "`Net(hiden=1)` does not fit"
    " `Net(hidden: int = 4, *, bias=True)`: got an unexpected keyword argument 'hiden'"
    "\n  model.py:Net(hiden=1)\n              ^",
    "model.py:Net.enocde": "`Net` has no `enocde`; did you mean `encode`?"
    "\n  model.py:Net.enocde\n               ^",
    "model.py:count": "`count` is of type int and cannot be called"
    "\n  model.py:count\n           ^",
    "model.py:count(2)": "`count` is of type int and cannot be called"
    "\n  model.py:count(2)\n                ^",
    "model.py:Tool": "`Tool` is of type Tool and cannot be called; name a method, as in"
    " `Tool.run`\n  model.py:Tool\n           ^",
    "modle:Net": "there is no module `modle` here or installed; did you mean `model`?"
    "\n  modle:Net\n  ^",
    "tim:resnet50": "there is no module `tim` here or installed; did you mean `timm`?"
    "\n  tim:resnet50\n  ^",
    "model.inner:Net": "there is no module `model.inner` here or installed;"
    " did you mean `model`?\n  model.inner:Net\n  ^",
}


@pytest.mark.parametrize("target", MISTAKES)
def test_a_target_that_cannot_be_used(target: str) -> None:
    with pytest.raises(InputError) as error:
        loaded(target)
    assert str(error.value) == MISTAKES[target]
    assert error.value.exit_code == 2


SYNTAX = {
    "def f(x):\n    return x +\n": "bad.py:2:15: invalid syntax\n      return x +\n"
    "                ^",
    "x = (1,\n": "bad.py:1:5: '(' was never closed\n  x = (1,\n      ^",
    "if 1:\nx = 2\n": "bad.py:2:1: expected an indented block after 'if' statement on"
    " line 1\n  x = 2\n  ^",
    "return 1\n": "bad.py:1:1: 'return' outside function\n  return 1\n  ^",
}


@pytest.mark.parametrize("text", SYNTAX)
def test_a_syntax_error(text: str, folder: Path) -> None:
    write(folder, bad=text, model="import bad")
    for target in ("bad.py:f", "model.py:f"):
        with pytest.raises(InputError) as error:
            loaded(target)
        assert str(error.value) == SYNTAX[text]


def test_text_that_is_no_python(folder: Path) -> None:
    (folder / "bad.py").write_bytes(b"\n\n\nx = '\xff'\n")
    with pytest.raises(InputError) as error:
        loaded("bad.py:f")
    assert str(error.value) == "`bad.py` is not UTF-8 text (byte 8)"
    (folder / "bad.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(InputError, match=r"bad\.py: invalid or missing encoding"):
        loaded("bad.py:f")
    (folder / "bad.py").write_bytes(b"x = 1\0\n")
    with pytest.raises(InputError, match=r"`?bad\.py.*null bytes"):
        loaded("bad.py:f")
    (folder / "bad.py").write_bytes(b"# coding: nonsense\n")
    with pytest.raises(InputError, match=r"bad\.py.*unknown encoding: nonsense"):
        loaded("bad.py:f")
    (folder / "dir.py").mkdir()
    with pytest.raises(InputError, match=r"cannot read `dir\.py`: Is a directory"):
        loaded("dir.py:f")


PROGRAMS = {
    "import": (
        "import sizes\n\nraise ValueError('bad width')\n",
        "own.py:3: ValueError: bad width (while importing `own.py`)",
    ),
    "sibling": (
        "import broken\n",
        "broken.py:2: ZeroDivisionError: division by zero (while importing `own.py`)",
    ),
    "library": (
        "import json\nx = json.loads('{')\n",
        "own.py:2: JSONDecodeError: Expecting property name enclosed in double quotes:"
        " line 1 column 2 (char 1) (while importing `own.py`)",
    ),
    "missing": (
        "import brokenn.part\n",
        "own.py:1: ModuleNotFoundError: No module named 'brokenn'"
        " (is `brokenn` installed in this environment?)"
        " (while importing `own.py`)",
    ),
    "exit": (
        "import sys\nsys.exit(3)\n",
        "own.py:2: the program exited with status 3 (while importing `own.py`)",
    ),
    "building": (
        "class F:\n    def __init__(self):\n        raise KeyError('depth')\n",
        "own.py:3: KeyError: 'depth' (while building `F()`)",
    ),
    "endless": (
        "def g():\n    g()\nclass F:\n    def __init__(self): g()\n",
        "own.py:2: RecursionError: maximum recursion depth exceeded"
        " (while building `F()`)",
    ),
    "property": (
        "class F:\n    @property\n    def G(self):\n        return self.gone\n"
        "F = F()\n",
        "own.py:4: AttributeError: 'F' object has no attribute 'gone'"
        " (while reading `F.G`)",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_an_exception_of_the_program(case: str, folder: Path) -> None:
    text, message = PROGRAMS[case]
    write(folder, own=text, broken="pass\nx = 1 / 0")
    before = (list(sys.path), set(sys.modules))
    with pytest.raises(ProgramError) as error:
        loaded("own.py:F.G" if case == "property" else "own.py:F")
    assert str(error.value) == message
    assert error.value.exit_code == 1
    assert error.value.__cause__ is error.value.cause
    assert sys.path == before[0]
    assert not {"own", "broken", "sizes"} & (set(sys.modules) - before[1])


def test_control_c_goes_through(folder: Path) -> None:
    write(folder, own="raise KeyboardInterrupt")
    before = list(sys.path)
    with pytest.raises(KeyboardInterrupt):
        loaded("own.py:f")
    assert sys.path == before
    assert "own" not in sys.modules
