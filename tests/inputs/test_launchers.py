"""Command lines that start a script: what is run, with which arguments and ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.inputs.errors import InputError
from shapewright.inputs.launchers import is_launch, read_launch


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, a module and a package that can be run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("loss.backward()\n")
    (tmp_path / "prepare.py").write_text("print(1)\n")
    for name in ("pkg/sub/train.py", "pkg/__main__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


T = "train.py"
SUB = "pkg/sub/train.py"


@pytest.mark.parametrize(
    ("command", "script", "arguments", "world"),
    [
        ("train.py --lr 1", T, "--lr 1", 1),
        ("python train.py --lr 1", T, "--lr 1", 1),
        ("python3.11 -u train.py", T, "", 1),
        ("python -m pkg.sub.train -x", SUB, "-x", 1),
        ("-m pkg -x", "pkg/__main__.py", "-x", 1),
        ("torchrun --standalone --nproc_per_node=8 train.py -b 4", T, "-b 4", 8),
        ("torchrun --nnodes 2 --nproc-per-node 4 train.py", T, "", 8),
        ("torchrun --nproc_per_node=2 -m pkg.sub.train -- -x", SUB, "-x", 2),
        ("torchrun --nproc_per_node gpu train.py", T, "", 1),
        ("python -m torch.distributed.run --nproc_per_node=4 train.py", T, "", 4),
        ("python -m torch.distributed.launch --nproc_per_node=4 --use_env train.py -x",
         T, "-x", 4),
        ("python -m torch.distributed.launch --nproc_per_node=4 train.py -x",
         T, "--local-rank=0 -x", 4),
        ("accelerate launch train.py", T, "", 1),
        ("accelerate launch --multi_gpu --num_processes 4 train.py a", T, "a", 4),
        ("deepspeed --num_gpus 2 train.py --deepspeed ds.json", T,
         "--local_rank=0 --deepspeed ds.json", 2),
        ("srun -N 2 --ntasks-per-node=4 python train.py -x", T, "-x", 1),
        ("mpirun -np 4 python train.py", T, "", 4),
        ("srun -N 2 torchrun --nproc_per_node=4 --nnodes 2 train.py", T, "", 8),
        ("nohup python train.py", T, "", 1),
        ("uv run train.py", T, "", 1),
        ("CUDA_VISIBLE_DEVICES=0 python train.py", T, "", 1),
    ],
)  # fmt: skip
def test_a_command_line_is_read_for_its_script(
    command: str, script: str, arguments: str, world: int
) -> None:
    launch = read_launch(command.split())
    assert launch.script == script
    assert " ".join(launch.arguments) == arguments
    assert launch.world == world
    assert is_launch(command.split()) is (command.split()[0] != "train.py")


def test_the_first_process_has_the_environment_of_its_launcher() -> None:
    words = "OMP_NUM_THREADS=1 torchrun --nnodes=2 --nproc_per_node=4 train.py".split()
    environment = read_launch(words).environment
    assert environment["OMP_NUM_THREADS"] == "1"
    wanted = {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "8",
        "LOCAL_WORLD_SIZE": "4",
    }
    assert wanted.items() <= dict(environment).items()
    assert "RANK" not in read_launch(["train.py"]).environment
    assert "RANK" not in read_launch(["accelerate", "launch", "train.py"]).environment


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("torchrun --nproc_per_node=2", "no script in `torchrun --nproc_per_node=2`"),
        ("python -m nowhere.train", "no module `nowhere.train` was found"),
        ("-m", "a module is missing after `-m`"),
        ("run.sh", "`run.sh` cannot be read"),
        ("notes.txt", "`notes.txt` is not a Python file"),
    ],
)
def test_a_command_line_without_a_script_is_refused(command: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        read_launch(command.split())


def test_a_launch_is_told_with_its_rank() -> None:
    assert read_launch(["train.py"]).describe() == ""
    words = "torchrun --nproc_per_node=8 -m pkg.sub.train".split()
    assert read_launch(words).describe() == (
        "`-m pkg.sub.train` was run as `torchrun` starts it as rank 0 of 8"
    )


SCRIPT = """\
#!/bin/bash
set -e
NGPU=${NGPU:-"8"}
export LOG_RANK=${LOG_RANK:-0}
ARGS="--lr 1e-3 --name 'two'"
if [ -n "$DEBUG" ]; then
    python train.py --debug
    exit 0
elif [ "$NGPU" -gt 16 ]; then
    python train.py --many
else
    echo "starting" > log.txt
fi
python prepare.py
for seed in 3 4; do
    torchrun --nproc_per_node=${NGPU} \\
        train.py $ARGS --seed $seed "$@" 2>&1 | tee out.log
done
"""


@pytest.mark.parametrize(
    ("given", "values", "arguments", "world"),
    [
        ([], {}, "--lr 1e-3 --name two --seed 3", 8),
        (["--extra", "a b"], {}, "--lr 1e-3 --name two --seed 3 --extra a b", 8),
        ([], {"NGPU": "2"}, "--lr 1e-3 --name two --seed 3", 2),
        ([], {"NGPU": "32"}, "--many", 1),
        ([], {"DEBUG": "1"}, "--debug", 1),
    ],
)
def test_a_shell_script_is_read_for_the_training_that_it_starts(
    given: list[str],
    values: dict[str, str],
    arguments: str,
    world: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "run.sh").write_text(SCRIPT)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    launch = read_launch(["run.sh", *given])
    assert launch.script == "train.py"
    assert " ".join(launch.arguments) == arguments
    assert launch.world == world
    assert launch.environment["LOG_RANK"] == "0"
    assert "of `run.sh`" in launch.line


def test_a_shell_script_that_starts_nothing_is_refused(folder: Path) -> None:
    (folder / "run.sh").write_text("echo python train.py\nls\n")
    with pytest.raises(InputError, match=r"`run\.sh` starts no Python file"):
        read_launch(["run.sh"])
