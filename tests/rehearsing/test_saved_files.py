"""Files that cannot be written, for want of a folder or for their kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.saved_files import find_unwritten_file
from tests.rehearsing.library_errors import explain, mend
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from pathlib import Path
net = torch.nn.Linear(3, 2)
state = net.state_dict()
out = Path("runs/one")
"""
FOLDERS = {
    "a path": (
        'torch.save(state, out / "w.pt")',
        "out.mkdir(parents=True, exist_ok=True)\ntorch.save",
    ),
    "a text": (
        'torch.save(state, "runs/one/w.pt")',
        'os.makedirs("runs/one", exist_ok=True)\ntorch.save',
    ),
    "joined": (
        'import os\ntorch.save(state, os.path.join("runs", f"{1}.pt"))',
        'os.makedirs("runs", exist_ok=True)\ntorch.save',
    ),
    "formatted": (
        'import os\nfor k in range(2):\n    torch.save(state, f"runs/{k}/w.pt")',
        '    os.makedirs(os.path.dirname(f"runs/{k}/w.pt"), exist_ok=True)\n',
    ),
    "a log": (
        'with open(out / "log.txt", "a") as log:\n    log.write("begun")',
        "out.mkdir(parents=True, exist_ok=True)\nwith open",
    ),
    "a method": (
        'file = out / "x" / "log.txt"\nfile.write_text("begun")',
        "file.parent.mkdir(parents=True, exist_ok=True)\nfile.write_text",
    ),
    "in a class": (
        "import os\nclass Saver:\n    def __init__(self):\n"
        '        self.path = os.path.join("runs", "best.pt")\n'
        "    def save(self):\n        torch.save(state, self.path)\n"
        "Saver().save()",
        "        os.makedirs(os.path.dirname(self.path), exist_ok=True)\n"
        "        torch.save",
    ),
    "a number in the name": (
        "import os\nloss = net(torch.randn(1, 3)).mean().item()\n"
        'torch.save(state, f"runs/{loss:.2f}.pt")',
        'os.makedirs(os.path.dirname(f"runs/{loss:.2f}.pt"), exist_ok=True)\n',
    ),
}


@pytest.mark.parametrize(("text", "new"), FOLDERS.values(), ids=FOLDERS)
def test_a_folder_is_made_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, new: str
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = f"{HEAD}{text}\n"
    (finding,) = rehearsed(tmp_path, whole).findings
    assert finding.severity == "error"
    assert "is not there, and" in finding.message
    (fix,) = finding.fixes
    assert fix.checked
    mended = mend(whole, fix.edits)
    assert new in mended
    assert mended.count("import os") == ("os." in mended)


@pytest.mark.parametrize(
    "text",
    [
        'out.mkdir(parents=True)\ntorch.save(state, out / "w.pt")',
        'torch.save(state, "w.pt")',
        'import os\nos.makedirs("a/b")\nopen("a/b/c.txt", "w").close()',
        'try:\n    torch.save(state, out / "w.pt")\nexcept (OSError, RuntimeError):\n'
        "    print('not kept')",
    ],
)
def test_folders_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not rehearsed(tmp_path, f"{HEAD}{text}\n").findings


def test_a_file_that_is_read_is_another_error() -> None:
    text = "rows = open(path).read()\n"
    words = "`FileNotFoundError`: [Errno 2] No such file or directory: 'a/b.txt'"
    assert explain(find_unwritten_file, text, "open(path)", words) is None


@pytest.mark.parametrize(
    ("mode", "new"),
    [("RGBA", 'icon.convert("RGB").save(p)\n'), ("P", 'icon.convert("RGB").save(p)\n'),
     ("F", "")],
)  # fmt: skip
def test_an_image_is_converted(mode: str, new: str) -> None:
    text = "icon.save(p)\n"
    words = f"`OSError`: cannot write mode {mode} as JPEG"
    cause = explain(find_unwritten_file, text, "icon.save(p)", words)
    assert cause is not None
    assert f"`icon` is of mode {mode}" in cause.message
    assert [mend(text, fix.edits) for fix in cause.fixes] == ([new] if new else [])
