import torch
import torch.nn as nn


class Model(nn.Module):
    """Beam search over a tiny GRU decoder."""

    def __init__(self, vocab=23, hid=16, beam=4, max_len=6, eos=2):
        super().__init__()
        self.vocab, self.beam, self.max_len, self.eos = vocab, beam, max_len, eos
        self.emb = nn.Embedding(vocab, hid)
        self.cell = nn.GRUCell(hid, hid)
        self.out = nn.Linear(hid, vocab)

    def forward(self, state):
        B, K, V = state.size(0), self.beam, self.vocab
        h = state.repeat_interleave(K, dim=0)
        seqs = torch.ones(B * K, 1, dtype=torch.long, device=state.device)
        score = torch.full((B, K), float("-inf"), device=state.device)
        score[:, 0] = 0.0
        done = torch.zeros(B * K, dtype=torch.bool, device=state.device)
        base = torch.arange(B, device=state.device)[:, None] * K

        for _ in range(self.max_len):
            h = self.cell(self.emb(seqs[:, -1]), h)
            logp = self.out(h).log_softmax(-1)
            only_eos = torch.full_like(logp, float("-inf"))
            only_eos[:, self.eos] = 0.0
            logp = torch.where(done[:, None], only_eos, logp)
            total = (score.view(-1, 1) + logp).view(B, K * V)
            score, flat = total.topk(K, dim=-1)
            beam_id, token = flat // V, flat % V
            rows = (base + beam_id).view(-1)
            h, done = h[rows], done[rows]
            seqs = torch.cat([seqs[rows], token.view(-1, 1)], dim=1)
            done = done | (seqs[:, -1] == self.eos)
        return seqs.view(B, K, -1), score


def example_inputs():
    return (torch.randn(2, 16),)
