"""How a script is started: `torchrun`, `accelerate launch`, `python -m`, `run.sh`.

The command line is only read: nothing is started. The rehearsal runs the first of the
processes that the launcher would start, with the arguments and the environment that the
launcher would give it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shapewright.inputs.errors import InputError
from shapewright.inputs.shell_scripts import read_commands


@dataclass(frozen=True, slots=True)
class Launch:
    """A script and how it is started.

    `script` is its file. `module` is its name where it is run by ``-m``, from `folder`,
    which is then where its imports begin. `environment` is what the launcher sets.
    `processes` are started on this machine, of `world` on all. `launcher` is the
    name of what starts them, `line` the line of the shell script that says so.
    """

    script: str
    arguments: tuple[str, ...] = ()
    module: str = ""
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    world: int = 1
    launcher: str = ""
    line: str = ""

    def describe(self) -> str:
        """Return what is assumed of the launch, or an empty string for a script."""
        if not self.launcher and not self.line:
            return ""
        by = self.launcher or "python"
        at = f" of {self.line}" if self.line else ""
        ranks = f" as rank 0 of {self.world}" if self.launcher else ""
        name = f"-m {self.module}" if self.module else self.script
        return f"`{name}` was run as `{by}`{at} starts it{ranks}"


PYTHON = re.compile(r"python(w|\d+(\.\d+)?)?(\.exe)?")
COUNTS = {
    "torchrun": ("--nproc_per_node", "--nnodes"),
    "torch.distributed.run": ("--nproc_per_node", "--nnodes"),
    "torch.distributed.launch": ("--nproc_per_node", "--nnodes"),
    "deepspeed": ("--num_gpus", "--num_nodes"),
    "accelerate": ("--num_processes", "--num_machines"),
    "srun": ("--ntasks_per_node", "--nodes"),
    "mpirun": ("-np", ""),
    "mpiexec": ("-n", ""),
    "horovodrun": ("-np", ""),
}  # fmt: skip
"""Launchers, with their options for processes (on a machine; in all for `accelerate`
and those of MPI) and for machines."""
SHORT = {"-n": "--ntasks", "-N": "--nodes"}
"""Short options of `srun`."""
IN_ALL = frozenset({"accelerate", "mpirun", "mpiexec", "horovodrun"})
SINGLE = frozenset({"srun"})
"""Launchers that only start what is told: the program finds its rank in SLURM's own
names."""
AROUND = frozenset({"time", "nohup", "exec", "sudo", "env", "uv", "poetry", "run",
                    "coverage", "nice", "stdbuf", "numactl", "conda"})  # fmt: skip
"""Words before a command that start it unchanged."""
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
SHELL = re.compile(r"(ba|z|k|da)?sh")
FIRST_PORT = "29500"


def read_launch(words: Sequence[str]) -> Launch:
    """Return how a command line starts a script.

    Examples: ``train.py --lr 1``, ``-m pkg.train``, ``torchrun --nproc_per_node=8 -m
    pkg.train``, ``accelerate launch train.py``, ``CUDA_VISIBLE_DEVICES=0 python
    train.py``, ``run.sh``. Raises `InputError` where no script is named.
    """
    left, environment = list(words), {}
    while left and ASSIGNMENT.match(left[0]):
        name, _, value = left.pop(0).partition("=")
        environment[name] = value
    launch = _read_words(left)
    return replace(launch, environment={**launch.environment, **environment})


def is_launch(words: Sequence[str]) -> bool:
    """Return whether a command line begins with anything but a Python file."""
    return (
        bool(words) and not words[0].endswith((".py", ".ipynb")) and _is_launcher(words)
    )


def _is_launcher(words: Sequence[str]) -> bool:
    """Return whether a command line begins as one that starts a script."""
    first = words[0]
    return (
        first in ("-m", *AROUND)
        or os.path.basename(first) in COUNTS
        or first.endswith((".sh", ".bash", ".slurm", ".sbatch"))
        or bool(ASSIGNMENT.match(first))
        or bool(PYTHON.fullmatch(os.path.basename(first)))
        or (bool(SHELL.fullmatch(os.path.basename(first))) and len(words) > 1)
    )


def _read_words(words: list[str]) -> Launch:
    """Return how a command starts a script, its assignments taken off."""
    if not words:
        raise InputError(
            "no script given; write it after the options, as in `train.py`"
        )
    first = os.path.basename(words[0])
    if words[0].endswith(".py"):
        return Launch(words[0], tuple(words[1:]))
    if words[0].endswith((".sh", ".bash", ".slurm", ".sbatch")):
        return _read_shell_script(words[0], words[1:])
    if SHELL.fullmatch(first) and len(words) > 1:
        return _read_words(_skip_options(words[1:], ".sh"))
    if words[0] == "-m":
        return _read_module(words)
    if first in COUNTS:
        return _read_launcher(first, words[1:])
    if PYTHON.fullmatch(first):
        return _read_words(_skip_options(words[1:], ".py"))
    if first in AROUND:
        return _read_words(_skip_options(words[1:], ""))
    raise InputError(f"`{words[0]}` is not a Python file; write FILE.py")


def _skip_options(words: list[str], ending: str) -> list[str]:
    """Return a command line from its script on: a file, `-m`, or any other word."""
    for at, word in enumerate(words):
        if word == "-m" or word.endswith(ending or ".py"):
            return words[at:]
        if not ending and not word.startswith("-"):
            return words[at:]
    raise InputError(f"no script in `{' '.join(words)}`")


def _read_module(words: list[str]) -> Launch:
    """Return the launch of ``-m NAME ...``; a launcher of torch's is read as one."""
    if len(words) < 2:
        raise InputError("a module is missing after `-m`")
    name, rest = words[1], words[2:]
    if name in COUNTS:
        return _read_launcher(name, rest)
    if name in ("accelerate.commands.launch", "deepspeed.launcher.runner"):
        return _read_launcher(name.partition(".")[0], rest)
    file, folder = _find_module(name)
    return Launch(file, tuple(rest), name, folder)


def _find_module(name: str) -> tuple[str, str]:
    """Return the file of a module, and the folder where its imports begin."""
    parts = name.split(".")
    places = [os.getcwd(), *filter(None, sys.path)]
    for folder in dict.fromkeys(places):
        base = Path(folder, *parts)
        for file in (base.with_name(base.name + ".py"), base / "__main__.py"):
            if file.is_file():
                return os.path.relpath(file), folder
    raise InputError(f"no module `{name}` was found from `{os.getcwd()}`")


def _read_launcher(name: str, words: list[str]) -> Launch:
    """Return the launch by a launcher: what it starts, and how often."""
    process_option, node_option = COUNTS[name]
    options: dict[str, str] = {}
    launch: Launch | None = None
    rest = words
    while rest:
        word = rest[0]
        if word in ("-m", "--module", "--no_python", "--no-python") and len(rest) > 1:
            after = rest[1:]
            if word in ("-m", "--module"):
                module, *others = after
                if others[:1] == ["--"]:
                    others = others[1:]
                launch = _read_module(["-m", module, *others])
            else:
                launch = _read_words(after)
            break
        if not word.startswith("-") and (word.endswith(".py") or _is_launcher(rest)):
            launch = _read_words(rest)
            break
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            option = SHORT.get(option, option) if name == "srun" else option
            if not equals and len(rest) > 1 and not rest[1].startswith("-"):
                value = rest[1]
            long = "--" + option[2:].replace("-", "_")
            options[long if option.startswith("--") else option] = value
        rest = rest[1:]
    if launch is None:
        raise InputError(f"no script in `{name} {' '.join(words)}`")
    count = _read_count(options.get(process_option, ""))
    nodes = _read_count(options.get(node_option, ""))
    if name == "srun":
        return replace(launch, launcher=launch.launcher or "srun")
    world = max(count, nodes) if name in IN_ALL else count * nodes
    here = max(1, world // nodes)
    arguments = list(launch.arguments)
    if name == "torch.distributed.launch" and "--use_env" not in options:
        arguments.insert(0, "--local-rank=0")
    if name == "deepspeed" and "--no_local_rank" not in options:
        arguments.insert(0, "--local_rank=0")
    environment = _build_environment(here, world)
    if name == "accelerate" and options.get("--mixed_precision"):
        environment["ACCELERATE_MIXED_PRECISION"] = options["--mixed_precision"]
    if name == "accelerate" and world == 1:
        environment = {
            key: value for key, value in environment.items() if key[:4] == "ACCE"
        }
    if launch.launcher:  # srun torchrun ...: the inner one starts the processes
        here, world, environment = launch.processes, launch.world, {}
    return replace(
        launch, arguments=tuple(arguments), processes=here, world=world, launcher=name,
        environment={**environment, **launch.environment},
    )  # fmt: skip


def _read_count(text: str) -> int:
    """Return a number of processes or machines: ``8``, ``1:4``, ``auto``."""
    first = text.partition(":")[0]
    return max(1, int(first)) if first.isdigit() else 1


def _build_environment(processes: int, world: int) -> dict[str, str]:
    """Return the environment that a launcher gives to its first process."""
    nodes = str(max(1, world // processes))
    return {
        "RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "ROLE_RANK": "0",
        "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(processes),
        "ROLE_WORLD_SIZE": str(world), "GROUP_WORLD_SIZE": nodes,
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": FIRST_PORT,
        "ROLE_NAME": "default", "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
    }  # fmt: skip


def _read_shell_script(file: str, arguments: Sequence[str]) -> Launch:
    """Return the first command of a shell script that starts a training."""
    try:
        text = Path(file).read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from None
    launches: list[Launch] = []
    for command in read_commands(text, arguments, os.environ):
        try:
            if not command.words or not _is_launcher(command.words):
                continue
            launch = _read_words(list(command.words))
        except InputError:
            continue
        environment = {**command.environment, **launch.environment}
        line = f"line {command.line} of `{file}`"
        launches.append(replace(launch, environment=environment, line=line))
    if launches:
        return max(launches, key=_rank_training)
    raise InputError(f"`{file}` starts no Python file that could be found")


def _rank_training(launch: Launch) -> int:
    """Return 2 for a script that has a backward pass, 1 for one that is named so."""
    try:
        text = Path(launch.script).read_text("utf-8", "replace")
    except OSError:
        return -1
    if ".backward(" in text:
        return 2
    return int("train" in os.path.basename(launch.script))
