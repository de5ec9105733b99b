import torch
import torch.nn as nn
import torch.nn.functional as F

hparams = {
    "vocab_size": 65,
    "block_size": 16,
    "n_embd": 32,
    "n_head": 4,
}


class BigramPlus(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, n_head):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa = nn.MultiheadAttention(n_embd, n_head, batch_first=True)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        tok_emb = self.token_embedding_table(idx)  # (B,T,C)
        pos_emb = self.position_embedding_table(torch.arange(T))  # (T,C)
        x = tok_emb + pos_emb
        causal = torch.ones(T, T, dtype=torch.bool).triu(1)
        x = x + self.sa(x, x, x, attn_mask=causal, need_weights=False)[0]
        logits = self.lm_head(x)  # (B,T,vocab_size)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits, targets)
        return logits, loss


def main(xb, yb):
    model = BigramPlus(**hparams)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    logits, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return logits, loss


def example_inputs():
    text = torch.randint(0, 65, (2, 17))
    return text[:, :-1], text[:, 1:]
