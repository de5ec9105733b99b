"""Mistakes of trainings whose steps stand in functions, methods and comprehensions."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

MODEL = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(70, 6), torch.randint(3, (70,))
loader = DataLoader(TensorDataset(x, y), 16)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += VALUE
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


"""


def list_findings(folder: Path, text: str, value: str = "value * n") -> list[str]:
    """The code and the text of the line of each finding in a program."""
    report = rehearsed(folder, MODEL.replace("VALUE", value) + dedent(text))
    assert report.complete
    lines = (folder / "train.py").read_text().splitlines()
    return [
        f"{finding.code}: {lines[finding.span.line - 1].strip()}"
        for finding in report.findings
        if finding.span is not None
    ]


STEPS = {
    "a closure that no step gets": """
        solver = torch.optim.LBFGS(model.parameters())

        def closure():
            solver.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()  # here
            return loss

        for turn in range(4):
            closure()
            # step
    """,
    "a scheduler steps alone": """
        adam = torch.optim.Adam(model.parameters())
        scheduler = torch.optim.lr_scheduler.StepLR(adam, 2)
        for epoch in range(3):
            for a, b in loader:
                adam.zero_grad()
                criterion(model(a), b).backward()  # here
                # step
            scheduler.step()
    """,
    "an update that nothing calls": """
        class Descent:
            def __init__(self, weights):
                self.weights = list(weights)

            def clear(self):
                for weight in self.weights:
                    weight.grad = None

            @torch.no_grad()
            def apply(self):
                for weight in self.weights:
                    weight -= 0.1 * weight.grad

        rule = Descent(model.parameters())
        for a, b in loader:
            rule.clear()
            criterion(model(a), b).backward()  # here
            # step
    """,
}
RIGHT_STEPS = {
    "a closure that no step gets": "solver.step(closure)",
    "a scheduler steps alone": "adam.step()",
    "an update that nothing calls": "rule.apply()",
}


@pytest.mark.parametrize("name", STEPS)
def test_trainings_that_no_step_changes(tmp_path: Path, name: str) -> None:
    findings = list_findings(tmp_path, STEPS[name])
    (text,) = [text for text in findings if text.startswith("never-stepped")]
    assert text.endswith("# here")
    right = STEPS[name].replace("# step", RIGHT_STEPS[name])
    assert list_findings(tmp_path, right) == []


EVALUATED = """
    drops = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    adam = torch.optim.Adam(drops.parameters())
    for epoch in range(3):
        drops.train()
        for a, b in loader:
            adam.zero_grad()
            criterion(drops(a), b).backward()
            adam.step()
        # mode
        with torch.no_grad():
            right = [(drops(a).argmax(1) == b).sum().item() for a, b in loader]  # here
        print(sum(right) / len(x))
"""


def test_a_comprehension_evaluates_in_training_mode(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, EVALUATED)
    assert text.startswith("evaluated-in-training-mode")
    assert text.endswith("# here")
    assert list_findings(tmp_path, EVALUATED.replace("# mode", "drops.eval()")) == []


FOLDS = """
    class Validator:
        def __init__(self):
            self.net = nn.Linear(6, 3)

        def fit(self, rows):
            # reset
            adam = torch.optim.Adam(self.net.parameters())
            for part in rows.split(16):
                adam.zero_grad()
                criterion(self.net(x[part]), y[part]).backward()
                adam.step()

        def run(self):
            for fold in range(3):
                self.fit(torch.arange(70)[torch.arange(70) % 3 != fold])
                print(fold, self.net(x[fold::3]).argmax(1) == y[fold::3])

    Validator().run()
"""


def test_a_model_of_an_object_goes_on_over_folds(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, FOLDS)
    assert text == "model-kept-over-folds: self.net = nn.Linear(6, 3)"
    new = FOLDS.replace("# reset", "self.net = nn.Linear(6, 3)")
    assert list_findings(tmp_path, new) == []
    again = FOLDS.replace("# reset", "self.net.reset_parameters()")
    assert list_findings(tmp_path, again) == []


COPIES = """
    class Agent:
        def __init__(self):
            self.net = self.target = nn.Linear(6, 3)

        def sync(self):
            self.target.load_state_dict(self.net.state_dict())

    agent = Agent()
    adam = torch.optim.Adam(agent.net.parameters())
    for a, b in loader:
        with torch.no_grad():
            goal = agent.target(a).argmax(1)
        adam.zero_grad()
        criterion(agent.net(a), goal).backward()
        adam.step()
        agent.sync()
"""


def test_two_names_of_one_new_model(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, COPIES)
    assert text.startswith("model-not-copied: self.target.load_state_dict")
    right = "self.net, self.target = nn.Linear(6, 3), nn.Linear(6, 3)"
    right = COPIES.replace("self.net = self.target = nn.Linear(6, 3)", right)
    assert list_findings(tmp_path, right) == []


RECORDED = """
    class Agent:
        def __init__(self):
            self.net, self.stats = nn.Linear(6, 3), {"loss": [], "mean": []}
            self.adam = torch.optim.Adam(self.net.parameters())

        def learn(self, a, b):
            scores = self.net(a)
            loss = criterion(scores, b)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.record(loss=loss.item(), mean=scores.mean())

        def record(self, **values):
            for name, value in values.items():
                self.stats[name].append(value)

    agent = Agent()
    for step in range(60):
        agent.learn(x, y)
"""


def test_graphs_that_a_method_keeps(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, RECORDED)
    assert text == "graph-kept: self.stats[name].append(value)"
    right = RECORDED.replace("scores.mean()", "scores.mean().item()")
    assert list_findings(tmp_path, right) == []


RESIDUALS = """
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(net.parameters())
    for step in range(30):
        t = torch.rand(40, 1, requires_grad=True)
        u = net(t)
        du = torch.autograd.grad(u, t, torch.ones_like(u), GRAPH=True)[0]
        physics = (du - torch.cos(t)).square().mean()
        start = (net(torch.zeros(1, 1)) - 1).square().mean()
        adam.zero_grad()
        (start + physics).backward()
        adam.step()
"""


def test_a_residual_beside_a_function_of_the_points(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, RESIDUALS.replace("GRAPH", "retain_graph"))
    assert text.startswith("gradient-without-graph")
    assert list_findings(tmp_path, RESIDUALS.replace("GRAPH", "create_graph")) == []


CLEARED = """
    adam = torch.optim.Adam(model.parameters())
    for a, b in loader:
        loss = criterion(model(a), b)
        loss.backward()
        STEP
        for weight in model.parameters():
            weight.grad = None  # here
        adam.step()
"""


def test_gradients_that_are_cleared_by_hand(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, CLEARED.replace("        STEP\n", ""))
    assert text.startswith("gradients-cleared-unused")
    assert text.endswith("# here")
    right = CLEARED.replace("adam.step()", "").replace("STEP", "adam.step()")
    assert list_findings(tmp_path, right) == []


SCHEDULE = """
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=STEPS)

    def step(batch):
        sgd.zero_grad()
        loss = criterion(model(batch[0]), batch[1])
        loss.backward()
        sgd.step()
        plan.step()
        return loss.item()

    for epoch in range(8):
        losses = [step(batch) for batch in loader]
        print(sum(losses) / len(losses))
"""


def test_a_schedule_that_a_comprehension_steps(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, SCHEDULE.replace("STEPS", "8"))
    assert text == "scheduler-unit: plan.step()"
    assert list_findings(tmp_path, SCHEDULE.replace("STEPS", "8 * len(loader)")) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("best_acc = min(best_acc, acc)", "best_acc = max(best_acc, acc)"),
        ("best_epoch = min(accs)", "best_epoch = max(accs)"),
        (
            "if acc < best_acc: best_acc, bad = acc, 0",
            "if acc > best_acc: best_acc, bad = acc, 0",
        ),
    ],
)
def test_other_ways_to_keep_the_best(tmp_path: Path, wrong: str, right: str) -> None:
    start = "best_acc, bad, accs = 0.0, 0, [0.0]"
    body = "\nacc = (model(x).argmax(1) == y).float().mean().item()\naccs.append(acc)\n"
    (text,) = list_findings(tmp_path, start + body + wrong)
    assert text == f"metric-direction: {wrong}"
    assert list_findings(tmp_path, start + body + right) == []


SCALERS = {
    "an object's": """
        class Pipeline:
            def __init__(self):
                self.scaler = Scaler()

            def train(self, train_x):
                return model(self.scaler.fit_transform(train_x))

            def test(self, test_x):
                return model(self.scaler.METHOD(test_x))  # here

        pipeline = Pipeline()
        print(pipeline.train(x[:40]).shape, pipeline.test(x[40:]).shape)
    """,
    "a function's": """
        scaler = Scaler()

        def prepare(rows, METHOD=True):
            return FIT

        x_train, x_test = x[:40], x[40:]
        print(model(prepare(x_train)).shape)
        print(model(prepare(x_test)).shape)  # here
    """,
}
SCALER = """
    class Scaler:
        def fit_transform(self, rows):
            self.mean = rows.mean(0)
            return self.transform(rows)

        def transform(self, rows):
            return rows - self.mean
"""


@pytest.mark.parametrize("name", SCALERS)
def test_scalers_that_are_fitted_in_two_calls(tmp_path: Path, name: str) -> None:
    body = dedent(SCALER) + dedent(SCALERS[name])
    wrong = body.replace("FIT", "scaler.fit_transform(rows)")
    (text,) = list_findings(tmp_path, wrong.replace("METHOD", "fit_transform"))
    assert text.startswith("fitted-anew")
    assert text.endswith("# here")
    right = "scaler.fit_transform(rows) if 'train' else scaler.transform(rows)"
    right = body.replace("FIT", right).replace("METHOD", "transform")
    assert list_findings(tmp_path, right) == []


SNAPSHOT = """
    start = {key: value.detach()COPY for key, value in model.state_dict().items()}
    for rate in (0.1, 0.01):
        model.load_state_dict(start)
        sgd = torch.optim.SGD(model.parameters(), lr=rate)
        for a, b in loader:
            sgd.zero_grad()
            criterion(model(a), b).backward()
            sgd.step()
    model.load_state_dict(start)
"""


def test_a_snapshot_that_shares_the_weights(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, SNAPSHOT.replace("COPY", ""))
    assert text.startswith("state-not-copied")
    assert list_findings(tmp_path, SNAPSHOT.replace("COPY", ".clone()")) == []


SEEDED = """
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def corrupt(rows):
        # seed
        return rows + torch.randn_like(rows)

    for a, b in loader:
        sgd.zero_grad()
        criterion(model(corrupt(a)), b).backward()
        sgd.step()
"""


def test_a_function_that_seeds_what_it_draws(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, SEEDED.replace("# seed", "torch.manual_seed(0)"))
    assert text.startswith("seed-repeated: criterion(model(corrupt(a)), b)")
    assert list_findings(tmp_path, SEEDED) == []


AVERAGED = """
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    slow = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    slow.load_state_dict(net.state_dict())
    slow.requires_grad_(False).eval()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for a, b in loader:
        sgd.zero_grad()
        criterion(net(a), b).backward()
        sgd.step()
        with torch.no_grad():
            AVERAGE
            # buffers
    print(slow(x).argmax(1))
"""
AVERAGES = {
    "new data": """for old, new in zip(slow.parameters(), net.parameters()):
                old.data = 0.9 * old.data + 0.1 * new.data""",
    "lists": """pairs = list(slow.parameters()), list(net.parameters())
            torch._foreach_lerp_(*pairs, 0.1)""",
}


@pytest.mark.parametrize("average", AVERAGES.values(), ids=AVERAGES)
def test_averages_that_leave_statistics_behind(tmp_path: Path, average: str) -> None:
    body = AVERAGED.replace("AVERAGE", average)
    (text,) = list_findings(tmp_path, body)
    assert text.startswith("statistics-not-copied")
    right = """for old, new in zip(slow.buffers(), net.buffers()):
                old.copy_(new)"""
    assert list_findings(tmp_path, body.replace("# buffers", right)) == []


def test_a_loader_in_a_call_is_no_number_of_samples(tmp_path: Path) -> None:
    body = """
        part = TensorDataset(x, y)
        hits = 0
        for a, b in DataLoader(part, 16):
            hits += model(a).argmax(1).eq(b).sum().item()
        print(hits / len(part))
    """
    assert list_findings(tmp_path, body) == []


RESUMED = """
    import os

    def load(path, net, optimizer, scheduler):
        saved = torch.load(path)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        # scheduler
        return saved["epoch"] + 1

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    first = 0
    if os.path.exists("last.pt"):
        first = load("last.pt", model, optimizer, scheduler)
    for epoch in range(first, 4):
        for a, b in loader:
            optimizer.zero_grad()
            criterion(model(a), b).backward()
            optimizer.step()
        scheduler.step()
        states = dict(epoch=epoch, net=model.state_dict(),
                      optimizer=optimizer.state_dict(),
                      scheduler=scheduler.state_dict())
        torch.save(states, "last.pt")
"""


def test_a_checkpoint_of_keywords_that_is_loaded_in_part(tmp_path: Path) -> None:
    (text,) = list_findings(tmp_path, RESUMED)
    assert text.startswith("state-not-resumed")
    right = RESUMED.replace(
        "# scheduler", 'scheduler.load_state_dict(saved["scheduler"])'
    )
    assert list_findings(tmp_path, right) == []


RATES = """
    rates = {0: 0.05, 2: FACTOR}
    sgd = torch.optim.SGD(model.parameters(), lr=0.05)
    plan = torch.optim.lr_scheduler.LambdaLR(sgd, lambda epoch: FUNCTION)
    for epoch in range(4):
        for a, b in loader:
            sgd.zero_grad()
            criterion(model(a), b).backward()
            sgd.step()
        plan.step()
"""


def test_a_table_of_rates_for_factors(tmp_path: Path) -> None:
    table = "rates[0 if epoch < 2 else 2]"
    wrong = RATES.replace("FACTOR", "0.01").replace("FUNCTION", table)
    (text,) = list_findings(tmp_path, wrong)
    assert text.startswith("rate-as-factor")
    right = RATES.replace("FACTOR", "0.01").replace("FUNCTION", f"{table} / 0.05")
    assert list_findings(tmp_path, right) == []
