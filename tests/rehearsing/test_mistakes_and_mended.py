"""Silent mistakes in settings of their own, each beside the same program mended.

`<wrong -> right>` in a body stands for the one in the wrong program and for the other
in the mended one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(70, 6), torch.randint(3, (70,))
x_val, y_val = torch.randn(36, 6), torch.randint(3, (36,))
loader = DataLoader(TensorDataset(x, y), 16)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()


def train(rows=slice(None)):
    model.train()
    optimizer.zero_grad()
    criterion(model(x[rows]), y[rows]).backward()
    optimizer.step()


"""

PAIRS: dict[str, str] = {
    "evaluated-in-training-mode: no parentheses": """
        for epoch in range(3):
            train()
            <model.eval -> model.eval()>
            right = 0
            with torch.inference_mode():
                for a, b in zip(x_val.split(9), y_val.split(9)):
                    right += torch.count_nonzero(model(a).argmax(1) == b).item()
            print(right / 36)
    """,
    "evaluated-in-training-mode: all data at once": """
        for epoch in range(3):
            train()
            <pass -> model.eval()>
            with torch.no_grad():
                print(criterion(model(x_val), y_val).item())
    """,
    "evaluated-in-training-mode: a function": """
        @torch.no_grad()
        def test(net):
            <pass -> net.eval()>
            return (net(x_val).argmax(1) == y_val).float().mean().item()

        for epoch in range(3):
            train()
            print(test(model))
    """,
    "result-dropped: normalize": """
        def embed(a):
            z = model(a)
            <F.normalize(z, dim=1) -> z = F.normalize(z, dim=1)>
            return z

        (embed(x) @ embed(x).T).mean().backward()
        optimizer.step()
    """,
    "result-dropped: a bare name": """
        from torch.nn.functional import dropout

        def hidden(a):
            z = model[0](a)
            <dropout(z, 0.3, model.training) -> z = dropout(z, 0.3, model.training)>
            return model[3](z)

        criterion(hidden(x), y).backward()
        optimizer.step()
    """,
    "result-dropped: out": """
        @torch.no_grad()
        def embed(a):
            z = model(a)
            <F.normalize(z, dim=1) -> F.normalize(z, dim=1, out=z)>
            return z

        train()
        model.eval()
        print((embed(x) @ embed(x).T).mean().item())
    """,
    "flag-without-effect: of Keras": """
        for layer in model[:2]:
            <layer.trainable = False -> layer.requires_grad_(False)>
        train()
    """,
    "flag-without-effect: data": """
        for p in model[0].parameters():
            <p.data.requires_grad = False -> p.requires_grad = False>
        train()
    """,
    "mean-of-means: a list that is stacked": """
        scores = []
        model.eval()
        with torch.no_grad():
            for a, b in loader:
                hit = model(a).argmax(1).eq(b).double()
                scores.append(<hit.mean() -> hit>)
        print(torch.<stack -> cat>(scores).mean().item())
    """,
    "mean-of-means: exponentials in a comprehension": """
        model.eval()
        with torch.no_grad():
            values = [<torch.exp(criterion(model(a), b)) -> criterion(model(a), b)>
                      for a, b in zip(x.split(10), y.split(10))]
        print(math.<sqrt -> exp>(float(sum(values) / len(values))))
    """,
    "count-over-batches: a list": """
        hits = []
        model.eval()
        with torch.no_grad():
            for rows in torch.arange(70).split(10):
                hits.append((model(x[rows]).argmax(1) == y[rows]).sum().item())
        print(np.<mean(hits) -> sum(hits) / 70>)
    """,
    "count-over-batches: in a metric": """
        class Accuracy:
            def __init__(self):
                self.right = self.seen = 0

            def update(self, scores, gold):
                self.right += int((scores.argmax(1) == gold).sum())
                self.seen += <1 -> len(gold)>

            def compute(self):
                return self.right / self.seen

        metric = Accuracy()
        model.eval()
        with torch.no_grad():
            for a, b in loader:
                metric.update(model(a), b)
        print(metric.compute())
    """,
    "mean-over-samples: a metric that counts rows": """
        class Mean:
            def __init__(self):
                self.sum, self.count = torch.zeros(()), 0

            def add(self, loss, batch):
                self.sum.add_(loss.detach()<  ->  * len(batch)>)
                self.count += len(batch)

            @property
            def average(self):
                return (self.sum / self.count).item()

        mean = Mean()
        model.eval()
        with torch.no_grad():
            for a, b in loader:
                mean.add(criterion(model(a), b), a)
        print(mean.average)
    """,
    "mean-over-samples: hits of each batch": """
        history = [0.0] * 2
        model.eval()
        for epoch in range(2):
            with torch.no_grad():
                for a, b in loader:
                    hits = (model(a).argmax(1) == b).float()
                    history[epoch] += hits.<mean -> sum>().item()
            history[epoch] /= len(loader.dataset)
        print(history)
    """,
    "mean-over-samples: tokens": """
        nats, tokens = 0.0, 0
        model.eval()
        with torch.no_grad():
            for a, b in loader:
                count = b.numel()
                nats += criterion(model(a), b).item()<  ->  * count>
                tokens += count
        print(math.exp(nats / tokens))
    """,
    "dropout-always-on: of attention": """
        class Attention(nn.Module):
            def __init__(self, p=0.1):
                super().__init__()
                self.p, self.qkv, self.out = p, nn.Linear(6, 18), nn.Linear(6, 3)

            def forward(self, a):
                q, k, v = self.qkv(a).view(-1, 5, 18).chunk(3, -1)
                p = <self.p -> self.p if self.training else 0.0>
                z = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
                return self.out(z).flatten(0, 1)

        net = Attention()
        criterion(net(x), y).backward()
        net.eval()
        with torch.no_grad():
            print(net(x_val[:30]).argmax(1))
    """,
    "dropout-always-on: paths by hand": """
        class Block(nn.Module):
            def __init__(self, keep=0.9):
                super().__init__()
                self.keep, self.body = keep, nn.Linear(6, 6)

            def drop(self, branch):
                <  -> if not self.training: return branch>
                mask = (torch.rand(len(branch), 1) + self.keep).floor_()
                return branch.div(self.keep) * mask

            def forward(self, a):
                return a + self.drop(self.body(a))

        net = nn.Sequential(Block(), Block(), nn.Linear(6, 3))
        criterion(net(x), y).backward()
        net.eval()
        with torch.no_grad():
            print(net(x_val).argmax(1))
    """,
    "focal-on-mean: by expm1": """
        scores = model(x)
        log_p = scores - torch.logsumexp(scores, 1, keepdim=True)
        nll = -log_p.gather(1, y[:, None]).squeeze(1)<.mean() -> >
        (torch.neg(torch.expm1(-nll)) ** 2 * nll).mean().backward()
        optimizer.step()
    """,
    "batch-axis: gumbel": """
        class Codes(nn.Module):
            def __init__(self):
                super().__init__()
                self.scores, self.read = nn.Linear(6, 5), nn.Linear(5, 3)

            def forward(self, a):
                return self.read(F.gumbel_softmax(self.scores(a), dim=<0 -> 1>))

        net = Codes()
        adam = torch.optim.Adam(net.parameters())
        for a, b in loader:
            adam.zero_grad()
            criterion(net(a), b).backward()
            adam.step()
    """,
    "batch-axis: a running sum": """
        hazards = nn.Linear(6, 4)
        sgd = torch.optim.SGD(hazards.parameters(), lr=0.1)
        for a, b in loader:
            log_s = -F.softplus(hazards(a)).cumsum(<0 -> 1>)
            sgd.zero_grad()
            (-log_s.gather(1, b[:, None]).mean()).backward()
            sgd.step()
    """,
    "log-of-zero: what relu has cut": """
        rain = torch.relu(torch.randn(70, 6))
        level = torch.log10(rain<  ->  + 0.01>)
        criterion(model(level), y).backward()
        optimizer.step()
    """,
    "nan-in-data: windows": """
        table = np.ones((80, 6), dtype=np.float32)
        table[3, 2] = <np.nan -> 0>
        series = torch.tensor(table)
        data = TensorDataset(series.unfold(0, 4, 1)[:70].mean(2), y)
        windows = TensorDataset(series.unfold(0, 4, 1)[:70].flatten(1), y)
        net = nn.Linear(24, 3)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        for a, b in DataLoader(windows, 10):
            sgd.zero_grad()
            criterion(net(a), b).backward()
            sgd.step()
    """,
    "seed-repeated: of arrays": """
        def batches():
            <np.random.seed(3) -> pass>
            order = np.random.permutation(70)
            for at in range(0, 70, 10):
                yield torch.from_numpy(order[at : at + 10])

        for epoch in range(3):
            for rows in batches():
                train(rows)
    """,
    "seed-repeated: a generator in a function": """
        fixed = torch.Generator().manual_seed(4)

        def epoch():
            g = <torch.Generator().manual_seed(4) -> fixed>
            for rows in torch.randperm(70, generator=g).split(10):
                train(rows)

        for turn in range(3):
            epoch()
    """,
    "seed-repeated: a generator in a loop": """
        rng = np.random.default_rng(8)
        for epoch in range(3):
            <rng = np.random.default_rng(8) -> pass>
            for rows in np.array_split(rng.permutation(70), 7):
                train(torch.from_numpy(rows))
    """,
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_mistake_is_reported_and_what_mends_it_is_not(
    name: str, tmp_path: Path
) -> None:
    code = name.partition(":")[0]
    for place, expected in ((1, {code}), (2, set[str]())):
        body = re.sub(r"<([^<>]*?) -> ([^<>]*)>", rf"\{place}", PAIRS[name])
        lines = [line[8:] for line in body.splitlines()]
        report = rehearsed(tmp_path, HEAD + "\n".join(lines))
        assert {f.code for f in report.findings if f.severity != "note"} == expected


LEGAL = {
    "draws of dropout": """
        train()
        with torch.no_grad():
            draws = torch.stack([model(x_val) for _ in range(8)])
            print(draws.std(0).mean(), (draws.mean(0).argmax(1) == y_val).sum())
    """,
    "accuracy of the batch that is trained on": """
        for epoch in range(3):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                print((model(x).argmax(1) == y).float().mean().item())
    """,
    "a flag of the program itself": """
        class Block(nn.Linear):
            trainable = True

        blocks = [Block(6, 3), Block(6, 3)]
        blocks[0].trainable = False
        some = [p for b in blocks if b.trainable for p in b.parameters()]
        sgd = torch.optim.SGD(some, lr=0.1)
        criterion(blocks[1](x) + blocks[0](x).detach(), y).backward()
        sgd.step()
    """,
    "the perplexity of each document": """
        documents = [(torch.randn(9, 6), torch.randint(3, (9,))) for _ in range(4)]
        model.eval()
        with torch.no_grad():
            values = [torch.exp(criterion(model(a), b)) for a, b in documents]
        print(float(sum(values) / len(values)))
    """,
    "counts for each image": """
        masks = torch.randint(2, (4, 8, 8))
        sizes = []
        for mask in masks:
            sizes.append((mask == 1).sum().item())
        print(np.mean(sizes))
        train()
    """,
    "weights of losses in the optimizer": """
        class Weighting:
            def __init__(self):
                self.log_var = torch.zeros(2, requires_grad=True)

            def __call__(self, *losses):
                return (torch.exp(-self.log_var) * torch.stack(losses)).sum()

        weighting = Weighting()
        both = torch.optim.Adam([*model.parameters(), weighting.log_var])
        loss = criterion(model(x), y)
        weighting(loss, model(x).pow(2).mean()).backward()
        both.step()
    """,
    "packing as many steps as samples": """
        from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

        rows = [torch.randn(n, 6) for n in range(1, 9)]
        lengths = torch.tensor([len(row) for row in rows])
        gru, head = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 3)
        adam = torch.optim.Adam([*gru.parameters(), *head.parameters()])
        for step in range(3):
            order = torch.randperm(8)
            padded = pad_sequence([rows[i] for i in order.tolist()], batch_first=True)
            packed = pack_padded_sequence(
                padded, lengths[order], batch_first=True, enforce_sorted=False
            )
            adam.zero_grad()
            criterion(head(gru(packed)[1][0]), y[:8]).backward()
            adam.step()
    """,
    "one seed for each fold": """
        for fold in range(3):
            g = torch.Generator().manual_seed(5)
            net = nn.Linear(6, 3)
            sgd = torch.optim.SGD(net.parameters(), lr=0.1)
            for rows in torch.randperm(70, generator=g).split(10):
                sgd.zero_grad()
                criterion(net(x[rows]), y[rows]).backward()
                sgd.step()
    """,
    "a seed for each epoch, and one of the evaluation": """
        def validate(g):
            model.eval()
            with torch.no_grad():
                return model(x_val + torch.randn(36, 6, generator=g)).mean().item()

        for epoch in range(3):
            g = torch.Generator().manual_seed(epoch)
            same = torch.Generator().manual_seed(5)
            print(validate(same))
            for rows in torch.randperm(70, generator=g).split(10):
                train(rows)
    """,
    "five dims that are exchanged": """
        class Video(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.out = nn.Conv2d(1, 2, 2), nn.Linear(4, 3)

            def forward(self, a):
                frames = a.view(-1, 1, 2, 3, 1).permute(0, 2, 1, 4, 3).expand(
                    -1, 2, 1, 3, 3
                )
                return self.out(self.conv(frames[:, 0]).mean(2).flatten(1))

        net = Video()
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        criterion(net(x), y).backward()
        sgd.step()
    """,
    "noise that is meant in evaluation": """
        class Noise(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean = nn.Linear(6, 3)

            def forward(self, a):
                mean = self.mean(a)
                return mean + 0.1 * torch.randn_like(mean)

        net = Noise()
        criterion(net(x), y).backward()
        net.eval()
        with torch.no_grad():
            print(net(x_val).argmax(1))
    """,
    "codes that the samples share": """
        slots = torch.randn(4, 6, requires_grad=True)
        sgd = torch.optim.SGD([slots], lr=0.1)
        weights = F.gumbel_softmax(x @ slots.T, dim=0)
        (weights.T @ x - slots).pow(2).mean().backward()
        sgd.step()
    """,
    "logarithms above 0 alone": """
        rain = torch.relu(torch.randn(70, 6))
        wet = rain > 0
        level = torch.zeros(70, 6)
        level[wet] = rain[wet].log()
        safe = torch.where(wet, rain.log(), torch.zeros(()))
        criterion(model(level + safe + rain.clamp(min=1e-3).log()), y).backward()
        optimizer.step()
    """,
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_looks_alike_is_left_alone(name: str, tmp_path: Path) -> None:
    lines = [line[8:] for line in LEGAL[name].splitlines()]
    report = rehearsed(tmp_path, HEAD + "\n".join(lines))
    assert not [f for f in report.findings if f.severity != "note"]
