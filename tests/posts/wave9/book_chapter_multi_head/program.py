import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class GPTDatasetV1(Dataset):
    def __init__(self, token_ids, max_length, stride):
        self.input_ids, self.target_ids = [], []
        for i in range(0, len(token_ids) - max_length, stride):
            self.input_ids.append(torch.tensor(token_ids[i:i + max_length]))
            self.target_ids.append(torch.tensor(token_ids[i + 1:i + max_length + 1]))

    def __len__(self):
        return len(self.input_ids)

    def __getitem__(self, idx):
        return self.input_ids[idx], self.target_ids[idx]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)

        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores = attn_scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / self.head_dim ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)

        # (b, num_heads, num_tokens, head_dim) -> (b, num_tokens, num_heads, head_dim)
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d, context_length, num_heads):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d)
        self.pos_emb = nn.Embedding(context_length, d)
        self.att = MultiHeadAttention(d, d, context_length, 0.1, num_heads)
        self.norm = nn.LayerNorm(d)
        self.out_head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, idx):
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1], device=idx.device))
        return self.out_head(self.norm(x + self.att(x)))


if __name__ == "__main__":
    torch.manual_seed(123)
    raw_text = "It had always been his fate to have women say such things of him. " * 30
    chars = sorted(set(raw_text))
    token_ids = [chars.index(c) for c in raw_text]

    context_length, num_heads, head_dim = 32, 2, 16
    loader = DataLoader(GPTDatasetV1(token_ids, context_length, stride=8), batch_size=8, shuffle=True, drop_last=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = LanguageModel(len(chars), num_heads * head_dim, context_length, num_heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    for epoch in range(2):
        for input_batch, target_batch in loader:
            optimizer.zero_grad()
            logits = model(input_batch.to(device))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), target_batch.flatten().to(device))
            loss.backward()
            optimizer.step()
        print(f"Ep {epoch + 1}: Train loss {loss.item():.3f}")
