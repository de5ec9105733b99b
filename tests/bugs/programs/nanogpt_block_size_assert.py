import torch
import torch.nn as nn
from torch.nn import functional as F

block_size = 16
vocab_size = 40


class GPT(nn.Module):
    def __init__(self, n_embd=32):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.block = nn.TransformerEncoderLayer(n_embd, 4, 64, 0.0, batch_first=True)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        b, t = idx.size()
        assert t <= block_size, f"cannot forward {t} tokens, block size is {block_size}"
        pos = torch.arange(t, device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        return self.lm_head(self.block(x, src_mask=mask, is_causal=True))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gpt = GPT()

    def forward(self, idx, max_new_tokens=8):
        for _ in range(max_new_tokens):
            idx_cond = idx
            logits = self.gpt(idx_cond)
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


def example_inputs():
    return (torch.randint(0, vocab_size, (1, 12)),)
