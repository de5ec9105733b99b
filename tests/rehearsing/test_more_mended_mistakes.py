"""More silent mistakes beside the same program mended, as in the file before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.test_mistakes_and_mended import HEAD

PAIRS = {
    "paired-rows: stacked steps": """
        cell, head = nn.GRUCell(6, 8), nn.Linear(8, 3)
        adam = torch.optim.Adam([*cell.parameters(), *head.parameters()])
        steps = torch.randn(20, 5, 6)
        labels = torch.randint(3, (20, 5))
        state, scores = torch.zeros(20, 8), []
        for t in range(5):
            state = cell(steps[:, t], state)
            scores.append(head(state))
        both = torch.stack(scores<  -> , 1>)
        criterion(both.reshape(-1, 3), labels.reshape(-1)).backward()
        adam.step()
    """,
    "index-of-all-rows: items of users": """
        users, items = nn.Embedding(9, 4), nn.Embedding(8, 4)
        sgd = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
        who, what = np.random.randint(0, 9, 70), np.random.randint(0, 8, 70)
        who, what, stars = map(torch.from_numpy, (who, what, np.random.rand(70)))
        for rows in torch.randperm(70).split(14):
            scores = users(who[rows]) @ items.weight.T
            rated = scores[<:, what[rows] -> torch.arange(14), what[rows]>]
            sgd.zero_grad()
            (rated - stars[rows]).square().mean().backward()
            sgd.step()
    """,
    "index-of-all-rows: a head for each sample": """
        heads = nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
        sgd = torch.optim.SGD(heads.parameters(), lr=0.1)
        for a, b in loader:
            outs = torch.stack([head(a).squeeze(1) for head in heads])
            out = outs[b<  -> , torch.arange(len(b))>]
            sgd.zero_grad()
            (out - a[:, 0]).abs().mean().backward()
            sgd.step()
    """,
    "decay-swapped: a step towards": """
        slow = nn.Linear(6, 8)
        for step in range(4):
            train()
            with torch.no_grad():
                for s, w in zip(slow.parameters(), model[0].parameters()):
                    s.copy_(s + <0.99 -> 0.01> * (w - s))
    """,
    "graph-kept: joined scores": """
        scores = torch.empty(0, 3)
        for rows in torch.randperm(70).split(10):
            out = model(x[rows])
            loss = criterion(out, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scores = torch.cat((scores, out<  -> .detach()>))
        print(scores.mean().item())
    """,
    "graph-kept: a hook": """
        norms = []

        def record(layer, args, output):
            norms.append(output<  -> .detach()>.norm())

        model[0].register_forward_hook(record)
        for step in range(5):
            train()
        print(sum(n.item() for n in norms))
    """,
    "masked-targets: an alias of a series": """
        net = nn.Conv1d(2, 2, 3, padding=1)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        series = torch.randn(20, 2, 12)
        hidden = torch.rand(20, 12) < 0.3
        shown = series<  -> .clone()>
        shown.mul_(~hidden.unsqueeze(1))
        error = (net(shown) - series).square().mean(1)
        ((error * hidden).sum() / hidden.sum()).backward()
        sgd.step()
    """,
    "masked-targets: pixels": """
        series = torch.randn(20, 6)
        net = nn.Linear(6, 6)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = torch.rand(20, 6) < 0.3
        shown = series<  -> .clone()>
        shown[hidden] = 0
        F.mse_loss(net(shown)[hidden], series[hidden]).backward()
        sgd.step()
    """,
    "wrapped-difference: bytes that are centred": """
        images = torch.randint(256, (70, 6), dtype=torch.uint8)
        centred = <images.clone().sub_(128).float() -> images.float().sub_(128)>
        criterion(model(centred / 64), y).backward()
        optimizer.step()
    """,
    "weights-not-tied: a copy of a layer": """
        import copy

        class Songs(nn.Module):
            def __init__(self, share_embeddings=True):
                super().__init__()
                self.read = nn.Embedding(9, 6)
                if share_embeddings:
                    self.write = <copy.deepcopy(self.read) -> self.read>

            def forward(self, ids):
                return self.read(ids) @ self.write.weight.T

        net = Songs()
        adam = torch.optim.Adam(net.parameters())
        ids = torch.randint(9, (20,))
        criterion(net(ids), ids.roll(1)).backward()
        adam.step()
    """,
    "item-written: words that are dropped": """
        class Texts(torch.utils.data.Dataset):
            rows = [torch.randint(2, 9, (5,)) for _ in range(20)]

            def __len__(self):
                return 20

            def __getitem__(self, i):
                ids = self.rows[i]<  -> .clone()>
                ids[torch.rand(5) < 0.2] = 1
                return ids, i % 3

        net = nn.Sequential(nn.EmbeddingBag(9, 4), nn.Linear(4, 3))
        adam = torch.optim.Adam(net.parameters())
        for epoch in range(2):
            for ids, label in DataLoader(Texts(), 5, shuffle=True):
                adam.zero_grad()
                criterion(net(ids), label).backward()
                adam.step()
    """,
    "item-written: a gain while collating": """
        def collate(samples):
            rows = []
            for row, label in samples:
                rows.append(row.<mul_ -> mul>(torch.empty(1).uniform_(0.5, 1.2)))
            return torch.stack(rows), torch.tensor([label for _, label in samples])

        clips = [(torch.randn(6), at % 3) for at in range(24)]
        for epoch in range(2):
            for a, b in DataLoader(clips, 6, shuffle=True, collate_fn=collate):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
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
    "a matrix in another order": """
        order = torch.randperm(30)
        distances = torch.cdist(x[:30], x[:30])
        turned = distances[order][:, order]
        print((turned - turned.T).abs().mean())
        train()
    """,
    "features of a hook that each pass begins anew": """
        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.kept = model, []
                model[0].register_forward_hook(self.keep)

            def keep(self, layer, args, output):
                self.kept.append(output)

            def forward(self, a):
                self.kept.clear()
                return self.body(a), self.kept[-1]

        net = Deep()
        for step in range(4):
            out, inner = net(x)
            optimizer.zero_grad()
            (criterion(out, y) + inner.pow(2).mean()).backward()
            optimizer.step()
    """,
    "a loss of what is observed": """
        net = nn.Linear(6, 6)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        table = torch.randn(20, 6)
        missing = torch.rand(20, 6) < 0.3
        table[missing] = 0
        F.mse_loss(net(table)[~missing], table[~missing]).backward()
        sgd.step()
    """,
    "scores of all pairs": """
        users, items = nn.Embedding(9, 4), nn.Embedding(8, 4)
        sgd = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
        who, what = torch.randint(9, (70,)), torch.randint(8, (70,))
        for rows in torch.randperm(70).split(14):
            pairs = (users(who[rows]) @ items.weight.T)[:, what[rows]]
            sgd.zero_grad()
            criterion(pairs, torch.arange(14)).backward()
            sgd.step()
    """,
    "labels that begin at 1": """
        labels = torch.randint(1, 4, (70,), dtype=torch.uint8)
        print((labels - 1).float().mean())
        criterion(model(x), (labels - 1).long()).backward()
        optimizer.step()
    """,
    "a target network that begins as a copy": """
        import copy

        class Agent(nn.Module):
            def __init__(self, shared_weights=False):
                super().__init__()
                self.online = nn.Linear(6, 3)
                self.target = copy.deepcopy(self.online).requires_grad_(False)

            def forward(self, a):
                return self.online(a) - 0.9 * self.target(a).amax(1, keepdim=True)

        agent = Agent()
        adam = torch.optim.Adam(agent.online.parameters())
        agent(x).pow(2).mean().backward()
        adam.step()
    """,
    "a running mean while collating": """
        total = torch.zeros(6)

        def collate(samples):
            for row, label in samples:
                total.add_(row)
            rows = torch.stack([row for row, _ in samples])
            return rows - total / 24, torch.tensor([label for _, label in samples])

        clips = [(torch.randn(6), at % 3) for at in range(24)]
        for epoch in range(2):
            for a, b in DataLoader(clips, 6, shuffle=True, collate_fn=collate):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    """,
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_looks_alike_is_left_alone(name: str, tmp_path: Path) -> None:
    lines = [line[8:] for line in LEGAL[name].splitlines()]
    report = rehearsed(tmp_path, HEAD + "\n".join(lines))
    assert not [f for f in report.findings if f.severity != "note"]
