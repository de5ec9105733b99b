# line 28: the greedy decoder calls the GRU with the encoder's state at every step and drops the new one
import torch
import torch.nn as nn

BOS, N_SYMBOLS = 0, 12


class Reverser(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embedding = nn.Embedding(N_SYMBOLS, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.vocab = nn.Linear(dim, N_SYMBOLS)

    def forward(self, source, shifted):
        _, memory = self.encoder(self.embedding(source))
        states, _ = self.decoder(self.embedding(shifted), memory)
        return self.vocab(states)

    @torch.no_grad()
    def translate(self, source, max_len):
        self.eval()
        _, hidden = self.encoder(self.embedding(source))
        symbol = source.new_full((source.size(0), 1), BOS)
        produced = []
        for _ in range(max_len):
            step, _ = self.decoder(self.embedding(symbol), hidden)
            symbol = self.vocab(step).argmax(-1)
            produced.append(symbol)
        return torch.cat(produced, dim=1)


def corpus(n, length=4):
    source = torch.randint(1, N_SYMBOLS, (n, length))
    return source, source.flip(1)


def run_epoch(model, optimizer, source, target, batch_size=40):
    model.train()
    shifted = torch.cat([torch.full((len(target), 1), BOS), target[:, :-1]], dim=1)
    for idx in torch.randperm(len(source)).split(batch_size):
        logits = model(source[idx], shifted[idx])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[idx].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Reverser()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
source, target = corpus(800)
for epoch in range(12):
    last = run_epoch(model, optimizer, source, target)
print("loss", last)
source, target = corpus(100)
print("right", (model.translate(source, 4) == target).float().mean().item())
