# line 42: the token logits of shape (B, T, tags) are given to cross entropy without bringing the tags to dim 1; mended by: transposing the logits
import torch
import torch.nn as nn

TAGS = ["O", "B-GENE", "I-GENE", "B-DRUG", "I-DRUG"]
IGNORE = -100


def fake_abstracts(n, max_len, vocab, g):
    ids = torch.randint(1, vocab, (n, max_len), generator=g)
    tags = ids % len(TAGS)
    lens = torch.randint(5, max_len + 1, (n,), generator=g)
    pad = torch.arange(max_len).unsqueeze(0) >= lens.unsqueeze(1)
    return ids.masked_fill(pad, 0), tags.masked_fill(pad, IGNORE)


class ConvTagger(nn.Module):
    def __init__(self, vocab, dim=20, n_tags=len(TAGS)):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, dim, 3, padding=d, dilation=d) for d in (1, 2, 4)])
        self.norm = nn.LayerNorm(dim)
        self.proj = nn.Linear(dim, n_tags)

    def forward(self, ids):
        h = self.embed(ids).transpose(1, 2)
        for conv in self.convs:
            h = h + torch.relu(conv(h))
        return self.proj(self.norm(h.transpose(1, 2)))


class LitLikeModule:
    def __init__(self, hparams):
        self.hparams = hparams
        self.model = ConvTagger(hparams["vocab"])
        self.criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=hparams["lr"])

    def training_step(self, batch):
        ids, tags = batch
        logits = self.model(ids)
        return self.criterion(logits.transpose(1, 2), tags)

    def validation_step(self, batch):
        ids, tags = batch
        keep = tags != IGNORE
        return (self.model(ids).argmax(-1)[keep] == tags[keep]).float().mean().item()

    def fit(self, batches, val):
        for epoch in range(self.hparams["epochs"]):
            for batch in batches:
                loss = self.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print("epoch", epoch, loss.item(), self.validation_step(val))


g = torch.Generator().manual_seed(0)
hp = {"vocab": 60, "lr": 5e-3, "epochs": 3}
data = [fake_abstracts(16, 18, hp["vocab"], g) for _ in range(6)]
LitLikeModule(hp).fit(data[:5], data[5])
