import torch
import torch.nn as nn


class TiedLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def load_vectors(model, vectors):
    """Start from word vectors trained elsewhere and tie the output layer."""
    assert vectors.shape == model.emb.weight.shape
    model.emb.weight = vectors.clone()
    model.out.weight = model.emb.weight
    return model


torch.manual_seed(0)
vectors = torch.randn(50, 24) * 0.1
model = load_vectors(TiedLM(50, 24), vectors)
seq = torch.randint(0, 50, (8, 13))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(10):
    logits = model(seq[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 50), seq[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("perplexity", loss.exp().item())
