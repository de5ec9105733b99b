"""Keys that a config of omegaconf lacks."""

from __future__ import annotations

import pytest

from shapewright.analysis.config_keys import find_config_key, find_nearest
from tests.rehearsing.library_errors import explain, mend

YAML = '''\
cfg = OmegaConf.create("""
seed: 3
optim:
  name: adamw
  learning_rate: 0.003
train:
  num_epochs: 4
  batch_size: 32
""")
'''
DICT = """\
cfg = OmegaConf.create({"optim": {"name": "sgd", "learning_rate": 0.1}, "epochs": 3})
"""


@pytest.mark.parametrize("head", [YAML, DICT])
@pytest.mark.parametrize(
    ("read", "key", "new"),
    [
        ("c.lr", "lr", "c.learning_rate"),
        ('c["lr"]', "lr", 'c["learning_rate"]'),
        ("cfg.optim.learnig_rate", "learnig_rate", "cfg.optim.learning_rate"),
        ("c.momentum", "momentum", ""),
    ],
)
def test_the_nearest_key_is_read(head: str, read: str, key: str, new: str) -> None:
    text = f"{head}rate = {read}\n"
    words = f"`ConfigAttributeError`: Key '{key}' is not in struct"
    cause = explain(find_config_key, text, read, words)
    assert cause is not None
    assert f"has no key `{key}`: it has" in cause.message
    mended = [mend(text, fix.edits) for fix in cause.fixes]
    assert mended == ([f"{head}rate = {new}\n"] if new else [])


@pytest.mark.parametrize(
    ("key", "keys", "nearest"),
    [
        ("bs", ["batch_size", "seed"], "batch_size"),
        ("learning_rate", ["lr", "seed"], "lr"),
        ("epochs", ["num_epochs", "batch_size"], "num_epochs"),
        ("train_path", ["train_size", "test_size"], ""),
        ("size", ["train_size", "test_size"], ""),
    ],
)
def test_only_one_key_is_near(key: str, keys: list[str], nearest: str) -> None:
    assert find_nearest(key, keys) == nearest


PARSER = """\
parser.add_argument("--learning-rate", "-r", type=float)
parser.add_argument("--size", dest="batch_size")
args = parser.parse_args()
rate = {}
"""
DATA = """\
@dataclass
class Config:
    learning_rate: float = 0.1
    seed: int = 3

rate = {}
"""
NESTED = """\
settings = {{"optim": {{"learning_rate": 0.1, "name": "sgd"}}, "seed": 3}}
def build(c):
    return {}
build(settings["optim"])
"""


@pytest.mark.parametrize(
    ("text", "read", "words", "new"),
    [
        (PARSER, "args.lr", "'Namespace' object has no attribute 'lr'",
         "args.learning_rate"),
        (PARSER, "args.bs", "'Namespace' object has no attribute 'bs'",
         "args.batch_size"),
        (PARSER, "args.momentum", "'Namespace' object has no attribute 'momentum'", ""),
        (DATA, "cfg.lr", "'Config' object has no attribute 'lr'", "cfg.learning_rate"),
        (DATA.replace("@dataclass", "@other"), "cfg.lr",
         "'Config' object has no attribute 'lr'", ""),
        (NESTED, 'c["lr"]', "'lr'", 'c["learning_rate"]'),
        (NESTED, 'settings["optim"]["lr"]', "'lr'",
         'settings["optim"]["learning_rate"]'),
        (NESTED, 'c["sed"]', "'sed'", ""),
        (NESTED, 'other["lr"]', "'lr'", ""),
    ],
)  # fmt: skip
def test_settings_of_other_kinds(text: str, read: str, words: str, new: str) -> None:
    whole = text.format(read)
    kind = "AttributeError" if "attribute" in words else "KeyError"
    cause = explain(find_config_key, whole, read, f"`{kind}`: {words}")
    if not new:
        assert cause is None
        return
    assert cause is not None
    assert ": it has `learning_rate`" in cause.message
    assert mend(whole, cause.fixes[0].edits) == text.format(new)
