"""How the scripts of this folder are called, and what is planted into them.

Of each mistake: the file and the text in it, what stands in its place, and the part of
a line of `train.py`, after the change, at which it must be told.
"""

from __future__ import annotations

from dataclasses import dataclass

RIGHT = {
    "hydra_digits": (
        "",
        "model=large epochs=40 optimizer.settings.lr=0.01 +note=held",
        "model.width=8 hydra.run.dir=runs/first hydra.job.chdir=false",
    ),
    "fire_regression": ("", "--epochs 40 --width=8 --save model.pt"),
    "pandas_table": ("",),
    "gymnasium_pole": ("",),
}
"""Arguments with which each must reach its end, with nothing found."""


@dataclass(frozen=True)
class Mistake:
    """One mistake; `arguments` are those of the command line."""

    script: str
    old: str
    new: str
    at: str
    file: str = "train.py"
    arguments: str = ""


MISTAKES = {
    "more classes in the data than the settings say": Mistake(
        "hydra_digits", "classes: 10", "classes: 9",
        "cross_entropy(model(x", file="conf/model/small.yaml",
    ),
    "as many weights as another number of classes": Mistake(
        "hydra_digits", "", "", "weights * settings[:, None]",
        arguments="weights=[1.0,2.0,3.0]",
    ),
    "labels that stay on the CPU": Mistake(
        "hydra_digits", "y.to(device))", "y)", "model(x.to(device)), y)",
    ),
    "a checkpoint of the wrong part": Mistake(
        "hydra_digits", 'torch.load("last.pt")["model"]', 'torch.load("last.pt")',
        'load_state_dict(torch.load("last.pt"))',
    ),
    "a setting that nobody has": Mistake(
        "hydra_digits", "config.batch_size, shuffle", "config.batch, shuffle",
        "config.batch, shuffle",
    ),
    "targets that broadcast": Mistake(
        "fire_regression", "mse_loss(model(inputs), targets)",
        "mse_loss(model(inputs), targets[:, 0])", "targets[:, 0]",
    ),
    "a width that is not that of the flag": Mistake(
        "fire_regression", "width, 1))", "16, 1))", "16, 1))", arguments="--width 24",
    ),
    "gradients that are never cleared": Mistake(
        "fire_regression", "            optimizer.zero_grad()\n", "",
        "loss.backward()",
    ),
    "a column of float64": Mistake(
        "pandas_table", 'torch.tensor(table[NUMBERS].to_numpy(dtype="float32"))',
        "torch.tensor(table[NUMBERS].to_numpy())", "self.net(torch.cat(",
    ),
    "one town too few": Mistake(
        "pandas_table", "Prices(len(towns))", "Prices(len(towns) - 1)",
        "self.town(town)",
    ),
    "errors of another rank": Mistake(
        "pandas_table", "(model(numbers, town) - price).abs()",
        "(model(numbers, town) - price[:, None]).abs()", "price[:, None]",
    ),
    "losses that keep their graphs": Mistake(
        "pandas_table", "        optimizer.step()\n",
        "        optimizer.step()\n        history.append({'loss': loss})\n",
        "history.append({'loss': loss})",
    ),
    "rewards of another shape than the values": Mistake(
        "gymnasium_pole", "smooth_l1_loss(values, returns)",
        "smooth_l1_loss(values, returns[:, None])", "returns[:, None]",
    ),
    "actions that are not stacked": Mistake(
        "gymnasium_pole", "torch.stack(chosen)", "torch.stack(chosen)[:, None]",
        "torch.stack(chosen)[:, None]",
    ),
    "states joined, not stacked": Mistake(
        "gymnasium_pole", "torch.stack(states)", "torch.cat(states)",
        "policy(torch.cat(states))",
    ),
    "a network for other observations": Mistake(
        "gymnasium_pole", "Policy(env.observation_space.shape[0], ",
        "Policy(env.observation_space.shape[0] + 1, ", "hidden = self.body(x)",
    ),
}  # fmt: skip

NOT_YET = {
    "rewards of another shape than the values",
    "actions that are not stacked",
}
"""Silent where nothing says that a dim counts samples: no loader made it."""
