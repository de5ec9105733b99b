import torch
import torch.nn as nn
import torch.nn.functional as F


def dot(a, b):
    return a.bmm(b.transpose(1, 2))


def context_mask(sizes, batch, n_q, n_c):
    mask = torch.zeros(batch, n_q, n_c)
    for i, size in enumerate(sizes):
        mask[i, :, size:] = -float("inf")
    return mask


def attend(query, context, value=None, score="dot", normalize="softmax", context_sizes=None, return_weight=False):
    """query (B, M, D), context (B, N, D), value (B, N, P) -> (B, M, P)"""
    v = context if value is None else value
    batch, n_q, _ = query.size()
    n_c = context.size(1)

    if score == "dot":
        s = dot(query, context)
    elif callable(score):
        s = score(query, context)
    else:
        raise ValueError("unknown score function: {}".format(score))

    if context_sizes is not None:
        s = s + context_mask(context_sizes, batch, n_q, n_c)

    s_flat = s.view(batch * n_q, n_c)
    if normalize == "softmax":
        w_flat = F.softmax(s_flat, dim=1)
    elif w_flat == "sigmoid":
        w_flat = torch.sigmoid(s_flat)
    elif w_flat == "identity":
        w_flat = s_flat
    else:
        raise ValueError("unknown normalization: {}".format(normalize))
    w = w_flat.view(batch, n_q, n_c)

    z = w.bmm(v)
    return (w, z) if return_weight else z


class ScaledDot(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim, bias=False)
        self.scale = dim ** -0.5

    def forward(self, q, c):
        return dot(self.proj(q), c) * self.scale


class NoteReader(nn.Module):
    """Counts how often each asked code occurs in a sequence of codes."""

    def __init__(self, vocab, dim, normalize):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.score = ScaledDot(dim)
        self.normalize = normalize
        self.out = nn.Linear(2 * dim, 1)

    def forward(self, notes, sizes, ask):
        q = self.emb(ask)
        c, _ = self.rnn(self.emb(notes))
        w, z = attend(q, c, score=self.score, normalize=self.normalize, context_sizes=sizes, return_weight=True)
        return self.out(torch.cat([q, z], dim=2)).squeeze(2), w


def batch_of_notes(batch, vocab, max_len=15, n_ask=3):
    notes = torch.randint(1, vocab, (batch, max_len))
    sizes = torch.randint(5, max_len + 1, (batch,)).tolist()
    for i, n in enumerate(sizes):
        notes[i, n:] = 0
    ask = torch.randint(1, vocab, (batch, n_ask))
    counts = (notes.unsqueeze(1) == ask.unsqueeze(2)).sum(2).float()
    return notes, sizes, ask, counts


def run(normalize, steps=40):
    torch.manual_seed(0)
    model = NoteReader(vocab=8, dim=24, normalize=normalize)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        notes, sizes, ask, counts = batch_of_notes(32, 8)
        pred, _ = model(notes, sizes, ask)
        loss = F.mse_loss(pred, counts)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("{:8s} loss {:.4f}".format(normalize, loss.item()))
    return loss.item()


if __name__ == "__main__":
    results = {}
    for name in ["softmax", "sigmoid"]:
        results[name] = run(name)
    print("best:", min(results, key=results.get))
