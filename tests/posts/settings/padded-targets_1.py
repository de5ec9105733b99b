# line 43: the captions are padded with 0 by hand in the collate function and the loss counts the padding as a class
import torch
import torch.nn as nn


def collate_captions(batch):
    feats = torch.stack([b["image"] for b in batch])
    longest = max(len(b["ids"]) for b in batch)
    caps = torch.zeros(len(batch), longest, dtype=torch.long)
    for row, b in zip(caps, batch):
        row[: len(b["ids"])] = torch.tensor(b["ids"])
    return feats, caps


class Captioner(nn.Module):
    def __init__(self, vocab=25, d=24):
        super().__init__()
        self.init_state = nn.Linear(10, d)
        self.words = nn.Embedding(vocab, d, padding_idx=0)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, feats, ids):
        h0 = torch.tanh(self.init_state(feats)).unsqueeze(0)
        states, _ = self.gru(self.words(ids), h0)
        return self.out(states)


def dataset(n):
    g = torch.Generator().manual_seed(0)
    rows = []
    for _ in range(n):
        k = int(torch.randint(2, 14, (1,), generator=g))
        words = torch.randint(3, 25, (k,), generator=g).tolist()
        rows.append({"image": torch.randn(10, generator=g), "ids": [1] + words + [2]})
    return rows


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)

    def step(self, feats, caps):
        logits = self.model(feats, caps[:, :-1])
        loss = self.loss_fn(logits.permute(0, 2, 1), caps[:, 1:])
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(dataset(128), 16, shuffle=True, collate_fn=collate_captions)
trainer = Trainer(Captioner())
for epoch in range(3):
    losses = [trainer.step(*b) for b in loader]
    print(epoch, sum(losses) / len(losses))
