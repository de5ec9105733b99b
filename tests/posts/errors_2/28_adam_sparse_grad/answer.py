import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
VOCAB, DIM, NEG = 2000, 32, 5

tokens = torch.randint(0, VOCAB, (6000,))
centers = tokens[1:-1].repeat(2)
contexts = torch.cat([tokens[:-2], tokens[2:]])
loader = DataLoader(TensorDataset(centers, contexts), batch_size=512, shuffle=True)


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.center = nn.Embedding(vocab, dim, sparse=True)
        self.context = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, center, pos, neg):
        v = self.center(center)
        pos_score = (v * self.context(pos)).sum(-1)
        neg_score = torch.bmm(self.context(neg), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos_score) + F.logsigmoid(-neg_score).sum(-1)).mean()


model = SkipGram(VOCAB, DIM)
optimizer = torch.optim.SparseAdam(model.parameters(), lr=1e-3)

for epoch in range(2):
    running = 0.0
    for center, pos in loader:
        neg = torch.randint(0, VOCAB, (len(center), NEG))
        optimizer.zero_grad()
        loss = model(center, pos, neg)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(loader):.4f}")

query = F.normalize(model.center.weight.detach(), dim=1)
print("neighbours of 7:", (query @ query[7]).topk(4).indices[1:].tolist())
