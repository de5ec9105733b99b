# line 15: squeeze() of the state (1, N, H) removes N as well for a single query, and the answer is one dict entry for each hit instead of one for each query
import torch
import torch.nn.functional as F
from torch import nn


class QueryEncoder(nn.Module):
    def __init__(self, vocab=200, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        _, state = self.rnn(self.embed(ids))
        return F.normalize(state.squeeze(), dim=-1)


class Search:
    def __init__(self, encoder, catalogue):
        self.encoder = encoder.eval()
        self.catalogue = F.normalize(catalogue, dim=-1)

    @torch.no_grad()
    def top(self, queries, k=3):
        similarity = self.encoder(queries) @ self.catalogue.T
        relevance = torch.softmax(similarity / 0.1, dim=-1)
        best = relevance.topk(k, dim=-1).indices
        return {i: row.tolist() for i, row in enumerate(best)}


def queries_for(products, generator):
    base = products[:, None] * 4
    return base + torch.randint(4, (len(products), 6), generator=generator)


gen = torch.Generator().manual_seed(2)
torch.manual_seed(2)
catalogue = nn.Parameter(torch.randn(50, 24) * 0.3)
encoder = QueryEncoder()
opt = torch.optim.Adam([*encoder.parameters(), catalogue], lr=5e-3)
for step in range(60):
    product = torch.randint(50, (32,), generator=gen)
    logits = encoder(queries_for(product, gen)) @ F.normalize(catalogue, dim=-1).T / 0.1
    loss = F.cross_entropy(logits, product)
    opt.zero_grad()
    loss.backward()
    opt.step()
search = Search(encoder, catalogue.detach())
print(search.top(queries_for(torch.tensor([3, 8, 21]), gen)))
print(search.top(queries_for(torch.tensor([13]), gen)))
