"""Bad input, as a person meets it: one clear sentence, the right exit code, and the
trace as far as the program came."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faces.processes import Done, Server, shared
from shapewright import Trace

HEAD = """\
import os, sys, threading, time, signal
import torch
from torch import nn
import torch.nn.functional as F

"""

NET = (
    HEAD
    + """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        y = self.linear(x)
        {}
        return y.relu()
"""
)


@pytest.fixture
def server() -> Server:
    return shared()


class Desk:
    """A folder with one program, and the command in it."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server

    def write(self, text: str, name: str = "model.py") -> None:
        (self.folder / name).write_text(text)

    def trace(self, *arguments: str) -> Done:
        before = sorted(os.listdir(self.folder))
        done = self.server.run(self.folder, "trace", *arguments)
        left = set(os.listdir(self.folder)) - set(before) - {"t.json", "__pycache__"}
        assert not left
        assert "shapewright itself failed" not in done.err, done.err
        return done

    def net(self, lines: str, *arguments: str) -> tuple[Done, Trace]:
        """A network whose forward has these lines in the middle, traced to a file."""
        self.write(NET.format(lines.replace("\n", "\n        ")))
        done = self.trace(*arguments, "-i", "f32[2, 4]", "-o", "t.json", "model.py:Net")
        assert done.out == ""
        record = Trace.from_json((self.folder / "t.json").read_text("utf-8"))
        return done, record


@pytest.fixture
def desk(tmp_path: Path, server: Server) -> Desk:
    return Desk(tmp_path, server)


def line_of(lines: str, marked: str) -> int:
    text = NET.format(lines.replace("\n", "\n        "))
    return next(i for i, s in enumerate(text.splitlines(), 1) if marked in s)


# -- what cannot start ---------------------------------------------------------------

CANNOT_START = {
    "no such file": ("", ["-i", "f32[2, 4]", "modle.py:Net"],
                     "no such file: `modle.py`; did you mean `model.py`?"),
    "syntax error": ("def f(:\n    pass\n", ["-i", "f32[2]", "model.py:f"],
                     "model.py:1:7: invalid syntax\n  def f(:\n        ^"),
    "arguments": (HEAD + "class Net(nn.Module):\n    def __init__(self, width, depth):"
                  "\n        super().__init__()\n", ["-i", "f32[2]", "model.py:Net"],
                  "width"),
    "spec": (NET.format("pass"), ["-i", "f32[2, 4", "model.py:Net"], "f32[2, 4"),
    "dtype": (NET.format("pass"), ["-i", "f23[2, 4]", "model.py:Net"],
              "unknown dtype `f23`"),
    "too many": (NET.format("pass"), ["-i", "f32[2, 4], f32[2]", "model.py:Net"],
                 "`Net.forward` takes 1 input (x), the spec gives 2"),
    "not there": (NET.format("pass"), ["-i", "f32[2, 4]", "model.py:Nett"],
                  "did you mean `Net`"),
    "not UTF-8": ("# \xe9\n", ["-i", "f32[2]", "latin.py:f"], "latin.py"),
}  # fmt: skip


@pytest.mark.parametrize("case", CANNOT_START)
def test_what_cannot_start(desk: Desk, case: str) -> None:
    text, arguments, said = CANNOT_START[case]
    desk.write(text)
    (desk.folder / "latin.py").write_bytes(b"x = '\xe9'\n")
    done = desk.trace(*arguments)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert said in done.err
    assert done.err.count("\n") <= 3


# -- what ends early -----------------------------------------------------------------

ENDS = {
    "its own exception": ('raise KeyError("lost")', "program-error", "KeyError"),
    "an assertion": ('assert x.shape[0] == 7, "seven"', "program-error", "seven"),
    "unpacking": ("a, b, c = x.shape", "program-error", "not enough values"),
    "sys.exit": ('sys.exit("enough")', "program-exit", "enough"),
    "exit status": ("raise SystemExit(3)", "program-exit", "3"),
    "recursion": ("self.forward(x)", "program-error", "RecursionError"),
    "recursion in torch": (
        "self.add_module('me', self); self(x)", "program-error", "RecursionError"
    ),
    "a shape": ("y = y @ torch.ones(5, 5)", "torch-error", "mat"),
    "memory": ("y = bytearray(1 << 60)", "program-error", "MemoryError"),
    "a bare exception": ("raise BaseException('base')", "program-error", "base"),
    "a generator": ("next(iter(()))", "program-error", "StopIteration"),
    "an exception that cannot be printed": (
        "raise type('Odd', (Exception,), {'__str__': lambda s: 1 / 0})()",
        "program-error", "Odd",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_what_ends_early(desk: Desk, case: str) -> None:
    lines, code, said = ENDS[case]
    done, record = desk.net(lines)
    assert done.code == 1
    assert not record.complete
    finding = record.findings[-1]
    assert finding.code == code
    assert said in finding.message
    assert "\n" not in finding.message
    assert finding.span is not None
    assert finding.span.file == "model.py"
    assert finding.span.line == line_of(lines, lines.splitlines()[0])
    assert record.ops[0].name == "F.linear"
    assert f"model.py:{finding.span.line}:" in done.err
    assert "Traceback" not in done.err


BEFORE = {
    "exits at import": (HEAD + "sys.exit(3)\n" + NET, "program-exit", 6, "3"),
    "fails at import": (HEAD + "1 / 0\n" + NET, "program-error", 6, "division by zero"),
    "imports what is not there": (
        HEAD + "import json.no_such_module\n", "program-error", 6, "no_such_module",
    ),
    "exits in the constructor": (
        NET.replace("self.linear =", "sys.exit(4); self.linear ="), "program-exit",
        9, "4",
    ),
    "fails in the constructor": (
        NET.replace("nn.Linear(4, 3)", "nn.Linear(4, 'x')"), "program-error", 9, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BEFORE)
def test_what_ends_before_the_first_call(desk: Desk, case: str) -> None:
    text, code, line, said = BEFORE[case]
    desk.write(text.replace("{}", "pass"))
    done = desk.trace("-i", "f32[2, 4]", "-o", "t.json", "model.py:Net")
    assert done.code == 1, done
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert not record.complete
    assert record.ops == ()
    finding = record.findings[0]
    assert (finding.code, said in finding.message) == (code, True)
    assert finding.span is not None
    assert (finding.span.file, finding.span.line) == ("model.py", line)
    solved = desk.server.run(desk.folder, "solve", "-i", "f32[B, 4]", "model.py:Net")
    assert solved.code == 1, solved
    assert f"model.py:{line}: " in solved.out
    assert said in solved.out
    assert "nothing is known yet" in solved.out


# -- what does not end ---------------------------------------------------------------

ENDLESS = {
    "a loop": "while True: pass",
    "sleep": "time.sleep(1000)",
    "what swallows everything": (
        "while True:\n    try: time.sleep(0.01); x + 1\n    except BaseException: pass"
    ),
    "a lock": "l = threading.Lock(); l.acquire(); l.acquire()",
    "a thread to wait for": (
        "t = threading.Thread(target=time.sleep, args=(1000,)); t.start(); t.join()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDLESS)
def test_what_does_not_end_is_stopped(desk: Desk, case: str) -> None:
    lines = ENDLESS[case]
    done, record = desk.net(lines, "--timeout", "1")
    assert done.code == 1
    assert not record.complete
    finding = record.findings[-1]
    assert finding.code == "timeout"
    assert "stopped after 1 s" in finding.message
    assert finding.span is not None
    assert finding.span.line >= line_of(lines, lines.splitlines()[0])
    assert record.ops[0].name == "F.linear"
    assert "Traceback" not in done.err


@pytest.mark.long
def test_a_call_of_c_that_does_not_end_is_stopped(desk: Desk) -> None:
    """It holds the interpreter's lock, so only its place can be told, and no trace."""
    lines = "sum(iter(int, 1))"
    desk.write(NET.format(lines))
    done = desk.trace("--timeout", "1", "-i", "f32[2, 4]", "model.py:Net")
    assert done.code == 1
    assert "Timeout" in done.err
    assert f'model.py", line {line_of(lines, lines)} in forward' in done.err


def test_an_endless_import_is_stopped(desk: Desk) -> None:
    desk.write(HEAD + "while True:\n    pass\n")
    done = desk.trace("--timeout", "1", "-i", "f32[2]", "model.py:Net")
    assert done.code == 1
    assert "timeout" in done.out
    assert "model.py:" in done.out


# -- what goes on --------------------------------------------------------------------

HARMLESS = {
    "a thread that goes on": (
        "threading.Thread(target=lambda: [time.sleep(.01) for _ in iter(int, 1)])"
        ".start()"
    ),
    "a thread that prints": (
        "threading.Thread(target=lambda: [print('tick') for _ in iter(int, 1)]).start()"
    ),
    "a thread on the model": (
        "t = threading.Thread(target=lambda: self.linear(x)); t.start(); t.join()"
    ),
    "a child that exits": "p = os.fork()\nif not p: os._exit(0)\nos.waitpid(p, 0)",
    "a child that falls through": (
        "p = os.fork()\nif p: assert os.waitpid(p, 0)[1] == 0"
    ),
    "a child that raises": (
        "p = os.fork()\nif not p: raise ValueError('in the child')\n"
        "assert os.waitpid(p, 0)[1]"
    ),
    "another folder": "os.chdir('/')",
    "a folder that is gone": (
        "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)"
    ),
    "its own file deleted": "os.unlink(__file__)",
    "a default dtype": "torch.set_default_dtype(torch.float64); torch.zeros(2)",
    "signal handlers": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a seed": "torch.manual_seed(0); torch.rand(2)",
    "a patch of torch": "F.relu = lambda v: v * 2; F.relu(y)",
    "a loader": (
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "for b, in DataLoader(TensorDataset(torch.arange(6.)), 2, shuffle=True): b + 1"
    ),
    "an exit hook": "import atexit; atexit.register(print, 'bye')",
    "stdout closed": "sys.stdout.close()",
    "a child process that prints": "os.system('echo from a child')",
    "descriptor 1": "os.write(1, b'straight')",
    "a class in a string": (
        "n = {}\nexec('class A(nn.Module):\\n  def forward(self, v): return v + 1',"
        " globals(), n)\nn['A']()(x)"
    ),
    "tensors kept everywhere": (
        "self.h = y; globals()['H'] = y; sys.modules[__name__].L = [y]"
    ),
    "a trace in the trace": (
        "import shapewright; shapewright.trace(nn.Linear(2, 2), 'f32[1, 2]')"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_what_goes_on(desk: Desk, case: str) -> None:
    done, record = desk.net(HARMLESS[case])
    assert done.code == 0, (done.err, record.findings)
    assert record.complete
    assert record.findings == ()
    assert record.output.shape == (2, 3)
    assert done.err.count("wrote t.json") == 1


@pytest.mark.parametrize(
    "lines",
    [
        'for _ in range(1 << 20): print("x" * 1023)',
        'line = "x" * 1023 + "\\n"\nfor _ in range(1 << 20): sys.stdout.write(line)',
        'for _ in range(1 << 10): sys.stdout.buffer.write(b"x" * (1 << 20))',
    ],
)
def test_a_gigabyte_of_chatter(desk: Desk, lines: str) -> None:
    done, record = desk.net(lines)
    assert done.code == 0
    assert record.complete
    assert len(done.err) < 2 << 20
    assert "the rest is not shown" in done.err


def test_stdout_is_the_result_alone(desk: Desk) -> None:
    chatter = (
        "print('loud'); os.write(1, b'loud'); os.system('echo loud')\n"
        "sys.__stdout__.write('loud'); sys.stdout.buffer.write(b'loud')\n"
        "import atexit; atexit.register(print, 'loud'); "
        "threading.Thread(target=lambda: [print('loud') for _ in iter(int, 1)]).start()"
    )
    desk.write(NET.format(chatter.replace("\n", "\n        ")))
    done = desk.trace("--format", "json", "-i", "f32[2, 4]", "model.py:Net")
    assert done.code == 0
    assert Trace.from_json(done.out).output.shape == (2, 3)
    assert "loud" in done.err


# -- how it is written ---------------------------------------------------------------


def test_settings_made_at_import_hold_in_the_run(desk: Desk) -> None:
    desk.write(
        HEAD + "torch.set_default_dtype(torch.float64)\nos.environ['SIZE'] = '5'\n"
        "sys.setrecursionlimit(3000)\n"
        "def f(x):\n    assert sys.getrecursionlimit() == 3000\n"
        "    return torch.zeros(int(os.environ['SIZE']))\n"
    )
    done = desk.trace("-i", "f32[1]", "-o", "t.json", "model.py:f")
    assert done.code == 0, done.err
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert (record.output.shape, record.output.dtype) == ((5,), "float64")


def test_a_fork_at_import_shows_one_result(desk: Desk) -> None:
    desk.write(HEAD + "if os.fork(): os.wait()\ndef f(x): return x + 1\n")
    done = desk.trace("-i", "f32[2]", "model.py:f")
    assert done.code == 0
    assert done.out.count("assumed") + done.out.count("(2,)") >= 1
    assert len([line for line in done.out.splitlines() if " ms" in line]) <= 1


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings(desk: Desk, ending: str) -> None:
    text = HEAD + "def f(x):\n    y = x + 1\n    return y @ y\n"
    (desk.folder / "model.py").write_bytes(text.replace("\n", ending).encode())
    done = desk.trace("-i", "f32[2, 3]", "-o", "t.json", "model.py:f")
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert record.findings[-1].span is not None
    assert record.findings[-1].span.line == 8
    assert done.code == 1


def test_the_main_block_is_not_run(desk: Desk) -> None:
    desk.write(
        NET.format("pass") + "\nif __name__ == '__main__':\n    raise SystemExit(9)\n"
    )
    assert desk.trace("-i", "f32[2, 4]", "model.py:Net").code == 0


def test_a_script_runs_its_main_block(desk: Desk) -> None:
    desk.write(
        HEAD + "if __name__ == '__main__':\n    print('ran')\n"
        "    y = nn.Linear(4, 3)(torch.zeros(2, 4))\n    sys.exit(3)\n"
    )
    done = desk.trace("-o", "t.json", "model.py")
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert "ran" in done.err
    assert done.code == 1
    assert record.findings[-1].code == "program-exit"
    assert [op.name for op in record.ops][-1] == "F.linear"


def test_a_relative_import(desk: Desk) -> None:
    package = desk.folder / "nets"
    package.mkdir()
    (package / "parts.py").write_text("def twice(x):\n    return x * 2\n")
    (package / "net.py").write_text(
        "from .parts import twice\ndef f(x):\n    return twice(x)\n"
    )
    done = desk.trace("-i", "f32[2]", "-o", "t.json", "nets/net.py:f")
    assert done.code == 0, done.err
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert record.ops[0].span is not None
    assert record.ops[0].span.file == "nets/parts.py"


def test_another_encoding_that_says_so(desk: Desk) -> None:
    text = "# coding: latin-1\nN\xfc = 3\ndef f(x):\n    return x.expand(N\xfc, -1)\n"
    (desk.folder / "model.py").write_bytes(text.encode("latin-1"))
    done = desk.trace("-i", "f32[4]", "-o", "t.json", "model.py:f")
    assert done.code == 0, done.err
    record = Trace.from_json((desk.folder / "t.json").read_text("utf-8"))
    assert record.output.shape == (3, 4)
