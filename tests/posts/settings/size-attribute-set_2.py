# line 30: the attribute out_features of the output layer is set from the options, the layer itself stays as wide as before
import numpy as np
import torch
from torch import nn

np.random.seed(61)
torch.manual_seed(61)


class IntentModel(nn.Module):
    def __init__(self, vocab=70, intents=20):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.heads = nn.ModuleDict({"intent": nn.Linear(24, intents), "mood": nn.Linear(24, 3)})

    def forward(self, ids):
        _, h = self.gru(self.emb(ids))
        return {k: head(h[0]) for k, head in self.heads.items()}


class Options:
    intents, mood = 6, 3
    lr, epochs, batch = 5e-3, 4, 30


def specialise(model, options):
    for key, size in (("intent", options.intents), ("mood", options.mood)):
        head = model.heads[key]
        head.out_features = size
        nn.init.normal_(head.weight, std=0.02)
        nn.init.zeros_(head.bias)
    return model


ids = torch.from_numpy(np.random.randint(0, 70, (240, 8)))
truth = {"intent": ids[:, 0] % Options.intents, "mood": ids[:, -1] % 3}
model = specialise(IntentModel(), Options)
opt = torch.optim.Adam(model.parameters(), lr=Options.lr)
for epoch in range(Options.epochs):
    for rows in torch.randperm(240).split(Options.batch):
        scores = model(ids[rows])
        loss = sum(nn.functional.cross_entropy(scores[k], truth[k][rows]) for k in truth)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
