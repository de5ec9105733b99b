import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(n_tags))
        self.end = nn.Parameter(torch.zeros(n_tags))
        self.trans = nn.Parameter(torch.randn(n_tags, n_tags) * 0.1)

    def gold(self, em, tags, mask):
        T, B, _ = em.shape
        b = torch.arange(B, device=em.device)
        s = self.start[tags[0]] + em[0, b, tags[0]]
        for t in range(1, T):
            step = self.trans[tags[t - 1], tags[t]] + em[t, b, tags[t]]
            s = s + step * mask[t]
        last = mask.long().sum(0) - 1
        return s + self.end[tags[last, b]]

    def log_z(self, em, mask):
        alpha = self.start + em[0]
        for t in range(1, len(em)):
            nxt = alpha.unsqueeze(2) + self.trans + em[t].unsqueeze(1)
            nxt = nxt.logsumexp(dim=1)
            alpha = torch.where(mask[t].unsqueeze(1), nxt, alpha)
        return (alpha + self.end).logsumexp(dim=1)


class Model(nn.Module):
    def __init__(self, vocab=40, dim=12, n_tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.out = nn.Linear(dim, n_tags)
        self.crf = CRF(n_tags)

    def forward(self, ids, tags, mask):
        em = self.out(self.emb(ids))
        em_t, tags_t, mask_t = em.transpose(0, 1), tags.t(), mask.t()
        nll = self.crf.log_z(em_t, mask_t) - self.crf.gold(em_t, tags_t, mask_t)
        return nll.mean(), em.argmax(-1)


def example_inputs():
    mask = torch.arange(8) < torch.tensor([8, 5, 3])[:, None]
    return torch.randint(0, 40, (3, 8)), torch.randint(0, 5, (3, 8)), mask
