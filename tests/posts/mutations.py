"""Mistakes put into the answers of the posts, and whether they are mended.

    python tests/posts/mutations.py --seed 3 --each 2 -o FILE

One change of the text (another size, a `view` left out, another dim) makes a mistake;
torch says whether the program fails with it. Then the program is rehearsed, and its
first checked fix is applied. "same": that gives back the text of the answer, or a
program which prints and leaves the same numbers from the same seeds. Nobody judges.
With `--silent`, mistakes with which the program runs to its end and leaves other
numbers (or holds more memory): whether a finding is at their line, and what its fix
does.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import ask

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from shapewright.program.source_text import SourceText  # noqa: E402
from shapewright.program.spans import Span, apply_edits  # noqa: E402

LIMIT = 60
TRIES = 12
"""How many programs are tried for one in which a change is a mistake."""
LEFT_OUT = {
    "contiguous", "detach", "expand", "flatten", "float", "long", "mean", "permute",
    "reshape", "squeeze", "sum", "t", "transpose", "unsqueeze", "view",
}  # fmt: skip
"""Methods that a mistake leaves out."""
FORGOTTEN = {"batch_first", "bidirectional", "dtype", "keepdim", "padding", "stride"}
"""Keywords that a mistake leaves out."""
WIDTHS = {"Conv1d", "Conv2d", "ConvTranspose2d", "GRU", "LSTM", "Linear"}
NORMS = {"BatchNorm1d", "BatchNorm2d", "LayerNorm"}
ALONG = {"argmax", "cat", "log_softmax", "mean", "softmax", "stack", "sum"}
FORGOTTEN_CALLS = {
    "backward", "clip_grad_norm_", "eval", "load_state_dict", "step", "train",
    "zero_grad",
}  # fmt: skip
"""Methods whose whole statement a silent mistake leaves out."""
FORGOTTEN_METHODS = {"clone", "contiguous", "detach", "exp", "item", "log", "sqrt"}
FORGOTTEN_WORDS = {
    "attn_mask", "batch_first", "ignore_index", "is_causal", "keepdim", "mask",
    "key_padding_mask", "lengths", "padding_idx", "pos_weight", "reduction", "shuffle",
    "src_key_padding_mask", "src_mask", "tgt_mask", "unbiased", "weight",
}  # fmt: skip
"""Keywords without which a program may run and compute another thing."""
UNSEEN = {"statement without zero_grad", "without item", "without detach", "no_grad"}
"""Silent mistakes that may leave the same numbers."""
LOGITS = {"CrossEntropyLoss": "softmax(-1)", "BCEWithLogitsLoss": "sigmoid()"}
PAIRS = {"binary_cross_entropy_with_logits", "cross_entropy", "nll_loss"}

DRIVER = """
import contextlib, hashlib, io, json, random, runpy, sys, traceback, warnings
import numpy, torch
torch.set_num_threads(1)
for seed in (torch.manual_seed, numpy.random.seed, random.seed):
    seed(0)
warnings.simplefilter("ignore")
printed, names, error, lines = io.StringIO(), {}, "", []
try:
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        names = runpy.run_path("program.py", run_name="__main__")
except SystemExit:
    pass
except BaseException as raised:
    error = f"{type(raised).__name__}: {raised}".partition("\\n")[0]
    lines = [frame.lineno for frame in traceback.extract_tb(raised.__traceback__)
             if frame.filename.endswith("program.py")]
def write(value):
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)} {value.detach().double().sum().item():.5g}"
    if isinstance(value, torch.nn.Module):
        return " ".join(map(write, value.parameters()))
    if isinstance(value, (list, tuple)):
        return str([write(item) for item in value[:50]])
    return f"{value:.5g}" if isinstance(value, float) else (
        str(value) if isinstance(value, (int, str)) else "")
state = {name: write(value) for name, value in names.items()
         if not name.startswith("__") and not isinstance(value, type)}
left = hashlib.sha1((printed.getvalue() + json.dumps(state, sort_keys=True)).encode())
with open(sys.argv[1], "w") as file:
    json.dump({"error": error, "lines": lines, "left": left.hexdigest()}, file)
"""


def replaced(source: SourceText, node: ast.expr, new: str) -> str:
    """Return a text with an expression replaced."""
    return apply_edits(source.text, [(source.span(node), new)])


def change(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield each mistake as (what was changed, line, text with the mistake)."""
    source = SourceText("program.py", text)
    for node in ast.walk(ast.parse(text)):
        changes = _change_call(source, node) if isinstance(node, ast.Call) else ()
        for kind, at, new in changes:
            yield kind, at.lineno, new
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            left, right = source.written(node.left), source.written(node.right)
            yield "swapped @", node.lineno, replaced(source, node, f"{right} @ {left}")
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = node.targets[0].elts
            if len(names) == 2 and isinstance(node.value, ast.Call):
                new = replaced(source, node.targets[0], source.written(names[0]))
                yield "a tuple not unpacked", node.lineno, new


def _change_call(
    source: SourceText, call: ast.Call
) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield the mistakes that are made at a call."""
    func, args = call.func, call.args
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    written = [source.written(node) for node in args]
    if name in WIDTHS | NORMS and args:
        other = _write_other_size(source, args[0])
        if other:
            kind = "features of a norm" if name in NORMS else "inputs of a layer"
            yield kind, args[0], replaced(source, args[0], other)
    is_method = isinstance(func, ast.Attribute) and not (
        isinstance(func.value, ast.Name) and func.value.id in ("F", "np", "torch")
    )
    if is_method and name in LEFT_OUT and (args or name not in ("mean", "sum")):
        assert isinstance(func, ast.Attribute)
        yield (
            f"without {name}",
            func,
            replaced(source, call, source.written(func.value)),
        )
    if is_method and name in ("permute", "view", "reshape") and len(args) > 1:
        turned = [*written[:-2], written[-1], written[-2]]
        new = f"{source.written(func)}({', '.join(turned)})"
        yield f"{name} in another order", func, replaced(source, call, new)
    if name in PAIRS and len(args) == 2 and not call.keywords:
        new = f"{source.written(func)}({written[1]}, {written[0]})"
        yield "swapped loss", func, replaced(source, call, new)
    for word in call.keywords:
        if word.arg in FORGOTTEN and all(other.arg for other in call.keywords):
            rest = [f"{other.arg}={source.written(other.value)}"
                    for other in call.keywords if other is not word]  # fmt: skip
            new = f"{source.written(func)}({', '.join(written + rest)})"
            yield f"without {word.arg}", word.value, replaced(source, call, new)
        if word.arg == "dim" and name in ALONG:
            now = source.written(word.value)
            if now in ("-1", "1", "2"):
                new = replaced(source, word.value, "1" if now == "2" else "0")
                yield f"{name} along another dim", word.value, new


def change_silently(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield each mistake with which a program may run, as `change` does."""
    source, tree = SourceText("program.py", text), ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    losses = dict(_list_losses(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            func = node.value.func
            if isinstance(func, ast.Attribute) and func.attr in FORGOTTEN_CALLS:
                kind = f"statement without {func.attr}"
                yield kind, node.lineno, replaced(source, node.value, "pass")
        if isinstance(node, ast.With) and len(node.items) == 1:
            head = node.items[0].context_expr
            if source.written(head) in ("torch.no_grad()", "torch.inference_mode()"):
                new = replaced(source, head, "torch.enable_grad()")
                yield "no_grad", node.lineno, new
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            new = replaced(source, node, source.written(node.operand))
            yield "a mask not inverted", node.lineno, new
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for side in ("val", "valid", "test"):
                twin = node.id.replace("train", side)
                if twin != node.id and twin in names:
                    new = replaced(source, node, twin)
                    yield "another set", node.lineno, new
        if isinstance(node, ast.Subscript):
            yield from _change_index(source, node)
        if isinstance(node, ast.Call):
            yield from _change_call_silently(source, node, losses)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            right = source.written(node.right)
            if ".size(0)" in right or "len(" in right or "shape[0]" in right:
                new = replaced(source, node, source.written(node.left))
                yield "without a count", node.lineno, new


def _list_losses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that a loss of logits is assigned to, with what it is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = ast.unparse(node.value.func).rpartition(".")[2]
            if made in LOGITS:
                yield ast.unparse(node.targets[0]), LOGITS[made]


def _change_index(
    source: SourceText, node: ast.Subscript
) -> Iterator[tuple[str, int, str]]:
    """Yield another end, or a slice shifted by one."""
    last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
    written = source.written(last) if not isinstance(last, ast.Slice) else ""
    if written == "-1" and isinstance(node.ctx, ast.Load):
        yield "the first for the last", node.lineno, replaced(source, last, "0")
    if isinstance(last, ast.Slice) and last.step is None and node.end_lineno:
        bounds = ast.unparse(last)
        if bounds in ("1:", ":-1"):
            now = source.written(node)
            new = now.replace(bounds, ":-1" if bounds == "1:" else "1:")
            yield "a slice not shifted", node.lineno, replaced(source, node, new)


def _change_call_silently(
    source: SourceText, call: ast.Call, losses: dict[str, str]
) -> Iterator[tuple[str, int, str]]:
    """Yield the silent mistakes that are made at a call."""
    func, args, line = call.func, call.args, call.lineno
    written = [source.written(node) for node in args]
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    is_method = isinstance(func, ast.Attribute)
    if is_method and name in FORGOTTEN_METHODS and not args:
        assert isinstance(func, ast.Attribute)
        owner = source.written(func.value)
        yield f"without {name}", line, replaced(source, call, owner)
    squashed = losses.get(source.written(func))
    squashed = squashed or {"cross_entropy": "softmax(-1)"}.get(name)
    if squashed and args:
        new = replaced(source, args[0], f"{written[0]}.{squashed}")
        yield "probabilities for logits", line, new
    if len(args) == 2 and all(isinstance(arg, ast.Name) for arg in args):
        new = f"{source.written(func)}({written[1]}, {written[0]}"
        rest = "".join(
            f", {word.arg}={source.written(word.value)}"
            for word in call.keywords
            if word.arg
        )
        yield "swapped arguments", line, replaced(source, call, f"{new}{rest})")
    for word in call.keywords:
        if word.arg in FORGOTTEN_WORDS and all(other.arg for other in call.keywords):
            rest = "".join(
                f", {other.arg}={source.written(other.value)}"
                for other in call.keywords
                if other is not word
            )
            inner = (", ".join(written) + rest).lstrip(", ")
            new = f"{source.written(func)}({inner})"
            yield f"without {word.arg}=", line, replaced(source, call, new)
        if word.arg == "dim" and name in ALONG:
            other_dim = {"-1": "0", "1": "0", "2": "1", "0": "1"}
            now = source.written(word.value)
            if now in other_dim:
                new = replaced(source, word.value, other_dim[now])
                yield f"{name} along another dim", line, new
    if (
        is_method
        and name == "permute"
        and all(text.lstrip("-").isdecimal() for text in written)
    ):
        assert isinstance(func, ast.Attribute)
        owner = source.written(func.value)
        sizes = f"[{owner}.shape[dim] for dim in ({', '.join(written)},)]"
        new = replaced(source, call, f"{owner}.reshape({sizes})")
        yield "a reshape for a permute", line, new


def _write_other_size(source: SourceText, node: ast.expr) -> str:
    """Return a wrong size in place of a number or a product."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value * 2)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return source.written(node.left)
    return ""


def run(folder: Path, text: str) -> dict[str, Any] | None:
    """Run a text with torch, from the same seeds."""
    with tempfile.TemporaryDirectory() as place:
        copy, out = Path(place) / "copy", Path(place) / "out.json"
        shutil.copytree(folder, copy)
        (copy / "program.py").write_text(text)
        command = [sys.executable, "-c", DRIVER, str(out)]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy)}
        try:
            subprocess.run(command, cwd=copy, env=env, capture_output=True,
                           timeout=LIMIT)  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        return json.loads(out.read_text()) if out.exists() else None


def judge(
    folder: Path, mistake: tuple[str, int, str], failed: dict[str, Any], source: str
) -> dict[str, Any]:
    """Return whether a mistake is found, and what its first checked fix does."""
    _, line, text = mistake
    wanted = {line, *failed["lines"][-1:]}
    row: dict[str, Any] = {"found": False, "fix": "none"}
    told = ask(folder, "rehearse program.py", False, source, text)["told"]
    for finding in (told or {}).get("findings", ()):
        places = [finding, *finding["related"]]
        lines = {place["span"]["line"] for place in places if place["span"]}
        if finding["severity"] == "note" or not lines & wanted:
            continue
        row["found"] = True
        fixes = [fix for fix in finding["fixes"] if fix["checked"]]
        if fixes and row["fix"] == "none":
            answer = (folder / "answer.py").read_text("utf-8")
            edits = [
                (Span("", *edit["start"], *edit["end"]), edit["text"])
                for edit in fixes[0]["edits"]
            ]
            new = apply_edits(text, edits)
            row["first"] = fixes[0]["message"]
            if ast.dump(ast.parse(new)) == ast.dump(ast.parse(answer)):
                row["fix"] = "same"
                continue
            after, before = run(folder, new), run(folder, answer)
            ends = after is not None and not after["error"]
            row["fix"] = "other" if ends else "fails"
            if ends and before is not None and after["left"] == before["left"]:
                row["fix"] = "same"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=2, help="of each kind of change")
    parser.add_argument("--waves", default="wave*")
    parser.add_argument("--silent", action="store_true", help="what runs and is wrong")
    parser.add_argument("--source", default=str(HERE.parents[1] / "src"))
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    pool: dict[str, list[tuple[Path, tuple[str, int, str]]]] = defaultdict(list)
    for path in sorted(HERE.glob(f"{options.waves}/*/answer.py")):
        label = (path.parent / "label.toml").read_text("utf-8")
        if 'command = "rehearse program.py"' in label:
            changes = change_silently if options.silent else change
            for mistake in changes(path.read_text("utf-8")):
                pool[mistake[0]].append((path.parent, mistake))
    rows, total = [], Counter[str]()
    answers: dict[Path, dict[str, Any] | None] = {}
    for kind in sorted(pool):
        draw.shuffle(pool[kind])
        count = 0
        for folder, mistake in pool[kind][: TRIES * options.each]:
            outcome = run(folder, mistake[2]) if count < options.each else None
            if outcome is None or bool(outcome["error"]) is options.silent:
                continue
            if folder not in answers:
                answers[folder] = run(folder, (folder / "answer.py").read_text("utf-8"))
            answer = answers[folder]
            if answer is None or answer["error"]:
                continue
            is_alike = outcome["left"] == answer["left"] and kind not in UNSEEN
            if options.silent and is_alike:
                continue
            count += 1
            row = judge(folder, mistake, outcome, options.source)
            row |= {"kind": kind, "folder": folder.name, "line": mistake[1],
                    "error": outcome["error"], "text": mistake[2]}  # fmt: skip
            rows.append(row)
            total.update(["asked", row["fix"], *["found"] * row["found"]])
            print(row["kind"], "|", folder.name, mistake[1], "|", row["found"],
                  row["fix"], "|", row.get("first", ""), flush=True)  # fmt: skip
    print(dict(total))
    if options.output:
        Path(options.output).write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()
