"""`shapewright rehearse` as people type it: what is printed, where; exit codes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

from faces.processes import Done, Server, shared

TRAINING = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(1000, 6), torch.randn(1000, 1))
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(90):
    for x, y in DataLoader(data, 16):
        {clear}
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print("epoch", epoch)
"""
RIGHT = TRAINING.format(clear="optimizer.zero_grad()")
WRONG = TRAINING.format(clear="pass")
BROKEN = RIGHT.replace("nn.Linear(6, 1)", "nn.Linear(5, 1)")


@pytest.fixture
def server() -> Server:
    return shared()


class Desk:
    """A folder with one script, and the command in it."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server

    def rehearse(
        self, text: str, *arguments: str, options: tuple[str, ...] = ()
    ) -> Done:
        """Run the command on a script of that text; nothing may stay behind."""
        (self.folder / "train.py").write_text(dedent(text))
        before = sorted(os.listdir(self.folder))
        given = ["rehearse", *options, "train.py", *arguments]
        done = self.server.run(self.folder, *given)
        assert sorted(os.listdir(self.folder)) == before
        return done


@pytest.fixture
def desk(tmp_path: Path, server: Server) -> Desk:
    return Desk(tmp_path, server)


def test_a_right_script_ends_with_0(desk: Desk) -> None:
    done = desk.rehearse(RIGHT)
    assert done.code == 0
    assert done.out.endswith("\ntrain.py: no findings\n")
    assert re.search(r"batches 1-\d, 63 of 63$", done.out, re.MULTILINE)
    assert "turns 1-2, 90 of 90" in done.out
    assert "epoch 89" in done.err
    assert "epoch 0\n" not in done.out


def test_a_wrong_script_ends_with_1(desk: Desk) -> None:
    done = desk.rehearse(WRONG)
    assert done.code == 1
    assert "warning[gradients-not-cleared]" in done.out


def test_an_error_of_torch_is_passed_and_ends_with_1(desk: Desk) -> None:
    done = desk.rehearse(BROKEN, options=("--format", "concise"))
    assert done.code == 1
    said = "train.py:11:39: error[inner-dim-mismatch]: `Linear` needs 5 input features,"
    assert done.out.startswith(f"{said} got 6 (")
    assert done.out.endswith("; fix: `nn.Linear(6, 1)`\n")


def test_json_has_findings_cost_and_story(desk: Desk) -> None:
    done = desk.rehearse(WRONG, "--lr", "1", options=("--format", "json"))
    data = json.loads(done.out)
    assert list(data) == [
        "version", "target", "findings", "assumptions", "complete", "cost", "device",
        "arguments", "story", "gradients", "skipped", "memory",
    ]  # fmt: skip
    assert [each["code"] for each in data["findings"]] == ["gradients-not-cleared"]
    assert data["complete"]
    assert data["arguments"] == ["--lr", "1"]
    assert data["device"] == "cpu"
    assert data["cost"]["parameters"] == 7
    (epochs,) = data["story"]["inner"]
    assert (epochs["kind"], epochs["line"], epochs["total"]) == ("loop", 8, 90)
    batches = epochs["inner"][0]["inner"][0]
    turns = batches.pop("turns")
    assert (turns[:2], turns[-1]) == ([1, 2], 63)
    assert batches == {
        "kind": "batches", "file": "train.py", "line": 9,
        "text": "TensorDataset, 1,000 items", "count": 3, "total": 63, "shapes": [
            "(16, 6) float32, (16, 1) float32", "(8, 6) float32, (8, 1) float32"
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "start"), [("github", "::warning file=train.py,line=12"), ("sarif", "{")]
)
def test_other_formats_are_those_of_check(desk: Desk, name: str, start: str) -> None:
    done = desk.rehearse(WRONG, options=("--format", name))
    assert done.code == 1
    assert done.out.startswith(start)


def test_what_cannot_start_ends_with_2(desk: Desk) -> None:
    for options, said in (
        (("--device", "abacus"), "error: no device `abacus` is known; there is cpu,"),
        (("--format", "xml"), "error: no `--format` `xml`; there is full, concise,"),
        (("--timeout", "0"), "error: --timeout: needs a number of seconds, got `0`"),
    ):
        done = desk.rehearse(RIGHT, options=options)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(said)
    for target, said in (
        ("none.py", "error: no such file: `none.py`"),
        (
            "train.py:Net",
            "error: `train.py:Net` is not a script; `rehearse` takes FILE.py",
        ),
    ):
        done = desk.server.run(desk.folder, "rehearse", target)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(said)
    done = desk.rehearse("x = = 1\n")
    assert done.code == 2
    assert "invalid syntax" in done.err


def test_a_usage_of_the_script_is_its_own_message(desk: Desk) -> None:
    done = desk.rehearse("""\
        from argparse import ArgumentParser

        parser = ArgumentParser()
        parser.add_argument("--data", required=True)
        parser.parse_args()
    """)
    assert done.code == 1
    said = "the following arguments are required: --data"
    assert f"the program called `sys.exit(2)`: {said}" in done.out
    assert f"train.py: error: {said}" in done.err


@pytest.mark.parametrize("code", ["0", "", "None", "main()"])
def test_a_script_may_end_itself(desk: Desk, code: str) -> None:
    text = f"import sys\n\ndef main():\n    print('done')\n\nsys.exit({code})\n"
    done = desk.rehearse(text)
    assert done.code == 0
    assert done.out.endswith("train.py: no findings\n")


def test_a_script_that_raises_at_once(desk: Desk) -> None:
    done = desk.rehearse("import json.nothing_of_this_name\n")
    assert done.code == 1
    assert "No module named 'json.nothing_of_this_name'" in done.out
    assert "train.py:1:1" in done.out
    assert done.out.endswith("1 error; the program did not reach its end\n")


def test_time_is_limited(desk: Desk) -> None:
    done = desk.rehearse("while True:\n    pass\n", options=("--timeout", "1"))
    assert done.code == 1
    assert "error[timeout]: stopped after 1 s" in done.out


STOPS = """\
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(4):
        out = net(torch.randn(8, 4))
        out.sum().backward()
        optimizer.step()
    {wrong}
    while True:
        pass
"""
WRONG_CALL = "out @ torch.randn(4, 2)"


def test_what_was_found_until_the_limit_is_told(desk: Desk) -> None:
    done = desk.rehearse(STOPS.format(wrong="pass"), options=("--timeout", "3"))
    assert done.code == 1
    assert "loss () f32, gradients of 2 of 2 parameters" in done.out
    assert "warning[gradients-not-cleared]" in done.out
    assert "error[timeout]: stopped after 3 s" in done.out
    script = STOPS.format(wrong=WRONG_CALL)
    options = ("--timeout", "3", "--format", "json")
    data = json.loads(desk.rehearse(script, options=options).out)
    codes = {each["code"] for each in data["findings"]}
    assert codes == {"inner-dim-mismatch", "timeout"}
    assert data["story"]
    for command, code in (("check", "inner-dim-mismatch"), ("trace", "torch-error")):
        done = desk.server.run(desk.folder, command, "--timeout", "3", "train.py")
        assert done.code == 1
        assert f"error[{code}]" in done.out


def test_a_script_that_prints_without_end_is_cut(desk: Desk) -> None:
    done = desk.rehearse("for i in range(300_000):\n    print('line', i)\n")
    assert done.code == 0
    assert done.out.endswith("train.py: no findings\n")
    assert len(done.err) < 1_100_000
    assert "the rest is not shown" in done.err


def test_what_follows_the_script_belongs_to_it(desk: Desk) -> None:
    done = desk.rehearse(
        "import sys\nprint(*sys.argv)\n", "--device", "x", "-v", "--", "--format", "y"
    )
    assert done.code == 0
    assert done.err.startswith("train.py --device x -v -- --format y\n")
    assert done.out.startswith("train.py --device x -v -- --format y  on cpu: ")


def test_the_end_of_the_process_is_the_end_of_the_script(desk: Desk) -> None:
    done = desk.rehearse(f"{RIGHT}import os\nos._exit(0)\n")
    assert done.code == 0
    assert done.out.endswith("train.py: no findings\n")
    done = desk.rehearse(f"{RIGHT}import os\nos._exit(3)\n")
    assert done.code == 1
    assert "error[program-exit]: the program called `os._exit(3)`" in done.out
    assert "turns 1-2, 90 of 90" in done.out


def test_small_numbers_that_a_script_opens_and_closes_are_its_own(desk: Desk) -> None:
    """What it writes there must not reach the report."""
    text = """\
        import os
        for number in range(3, 40):
            try:
                os.write(number, b"noise")
            except OSError:
                pass
        os.closerange(3, 40)
        """
    done = desk.rehearse(RIGHT + dedent(text))
    assert done.code == 0
    assert done.out.endswith("train.py: no findings\n")


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("ctypes.string_at(0)", "was ended by SIGSEGV"),
        ("ctypes.CDLL(None)._exit(5)", "ended with exit code 5"),
    ],
)
def test_a_script_that_ends_its_process_leaves_its_story(
    desk: Desk, end: str, said: str
) -> None:
    text = f"{RIGHT}import ctypes, os, signal\nprint('now')\n{end}\n"
    done = desk.rehearse(text)
    assert done.code == 1
    assert f"error[program-exit]: the program's process {said}" in done.out
    assert "batches 1-2" in done.out
    assert done.out.endswith("1 error; the program did not reach its end\n")
    assert "now\n" in done.err
    data = json.loads(desk.rehearse(text, options=("--format", "json")).out)
    assert not data["complete"]
    assert [each["code"] for each in data["findings"]] == ["program-exit"]
    assert data["story"]["inner"][0]["total"] == 90


@pytest.mark.long
def test_a_script_that_holds_on_to_the_interpreter_is_ended(desk: Desk) -> None:
    end = "import ctypes, signal\nsignal.pthread_sigmask(0, [signal.SIGALRM])\n"
    end += "ctypes.PyDLL(None).sleep(60)\n"
    done = desk.rehearse(f"{RIGHT}{end}", options=("--timeout", "1"))
    assert done.code == 1
    assert "error[timeout]: stopped after 1 s" in done.out


def test_ctrl_c_ends_script_and_command(desk: Desk) -> None:
    done = desk.rehearse("import os, signal\nos.killpg(0, signal.SIGINT)\ninput()\n")
    assert (done.code, done.out) == (130, "")
    assert done.err.endswith("interrupted\n")


def test_a_script_that_is_killed_leaves_no_folder(
    desk: Desk,
) -> None:
    place = desk.folder.parent / "temporary"
    place.mkdir()
    ended = "import os\nos.kill(os.getpid(), 9)\n"
    (desk.folder / "train.py").write_text(f"{RIGHT}{ended}")
    done = desk.server.run(desk.folder, "rehearse", "train.py", TMPDIR=str(place))
    assert done.code == 1
    assert os.listdir(place) == []


def test_a_story_is_told_of_a_run_that_gives_no_result() -> None:
    """Ctrl-C, or a limit met while the record is made: the story is all there is."""
    import torch

    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest
    from shapewright.runtime.training.rehearsal import RehearsalRequest

    def program() -> None:
        torch.ones(3)
        raise KeyboardInterrupt

    told: list = []
    rehearsal = RehearsalRequest(lambda file: file == __file__, ended=told.append)
    with pytest.raises(KeyboardInterrupt):
        record_run(program, (), {}, RunRequest(rehearsal=rehearsal))
    assert [each.story.device for each in told] == ["cpu"]
