"""Other people's training scripts, rehearsed from first line to last.

    python tests/rehearsals/examples.py CHECKOUT [NAME ...]

`CHECKOUT` is as `fixtures.py` says. Of each: whether it reached its end, what was told,
the seconds and the memory that the whole command took.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rehearsals import fixtures

LIMIT = 300


def rehearsed(
    name: str, checkout: Path, change: dict[int, str] | None = None, device: str = ""
) -> tuple[dict | None, str, float, float]:
    """What is told of an example, what it printed, seconds, and GiB at the most.

    `change` puts other text in the place of lines of its script.
    """
    with tempfile.TemporaryDirectory() as folder:
        prepared = fixtures.prepare(name, checkout, Path(folder))
        for line, text in (change or {}).items():
            lines = prepared.script.read_text().split("\n")
            lines[line - 1] = text
            prepared.script.write_text("\n".join(lines))
        return told_of(prepared, device)


def told_of(
    prepared: fixtures.Prepared, device: str = ""
) -> tuple[dict | None, str, float, float]:
    """What is told of a script in its folder, and the rest as `rehearsed` says."""
    out, error = (prepared.folder.parent / name for name in ("out.json", "err.txt"))
    script = os.path.relpath(prepared.script, prepared.folder)
    command = [
        sys.executable, "-m", "shapewright", "rehearse", "--format", "json",
        "--device", device or prepared.device, "--timeout", str(LIMIT), script,
        *prepared.arguments,
    ]  # fmt: skip
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.chdir(prepared.folder)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(os.open(error, os.O_WRONLY | os.O_CREAT), 2)
        os.execve(sys.executable, command, os.environ | prepared.environment)
    _, _, used = os.wait4(child, 0)
    seconds = time.perf_counter() - began
    most = used.ru_maxrss / (1 << 20)
    try:
        return json.loads(out.read_text()), error.read_text(), seconds, most
    except ValueError:
        return None, error.read_text(), seconds, most


def main(arguments: list[str]) -> int:
    """Print each, then how many reached their end."""
    checkout, names = Path(arguments[0]), arguments[1:] or list(fixtures.EXAMPLES)
    ended = 0
    for name in names:
        told, said, seconds, most = rehearsed(name, checkout)
        if told is None:
            print(f"FAILED {name} ({seconds:.1f} s)\n{said[-2000:]}")
            continue
        whole = told["complete"] and not any(
            each["severity"] == "error" for each in told["findings"]
        )
        ended += whole
        print(f"{'ok' if whole else 'NO':4} {name} {told['cost']['steps']} steps, "
              f"{told['cost']['seconds']:.1f} s run, {seconds:.1f} s in all, "
              f"{most:.2f} GiB")  # fmt: skip
        for each in told["findings"]:
            span = each["span"] or {"file": "", "line": 0}
            print(f"     {each['severity']}[{each['code']}] "
                  f"{span['file']}:{span['line']} {each['message']}")  # fmt: skip
    print(f"{ended} of {len(names)} reached their end without an error")
    return 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main(sys.argv[1:]))
