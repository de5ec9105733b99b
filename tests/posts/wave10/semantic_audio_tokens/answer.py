import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def exists(val):
    return val is not None


def append_eos_id(ids, eos_id):
    b = ids.shape[0]
    eos_ids = torch.ones(1).long() * eos_id
    eos_ids = eos_ids.unsqueeze(0).expand(b, -1)
    return torch.cat((ids, eos_ids), dim=-1)


def batch_unique_consecutive(t, pad_value=0.):
    unique_arr = [torch.unique_consecutive(el) for el in t.unbind(dim=0)]
    return pad_sequence(unique_arr, batch_first=True, padding_value=pad_value)


class Transformer(nn.Module):
    def __init__(self, dim, depth, heads):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.TransformerEncoderLayer(dim, heads, dim * 4, dropout=0.1, batch_first=True, norm_first=True)
            for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, key_padding_mask=None):
        n = x.shape[1]
        causal_mask = torch.ones((n, n), dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=causal_mask, src_key_padding_mask=key_padding_mask)
        return self.norm(x)


class SemanticTransformer(nn.Module):
    def __init__(self, num_semantic_tokens, dim, depth, heads=4, pad_id=-1):
        super().__init__()
        self.num_semantic_tokens = num_semantic_tokens
        self.pad_id = pad_id
        self.eos_id = num_semantic_tokens
        self.start_token = nn.Parameter(torch.randn(dim))
        self.semantic_embedding = nn.Embedding(num_semantic_tokens + 1, dim)
        self.transformer = Transformer(dim, depth, heads)
        self.to_logits = nn.Linear(dim, num_semantic_tokens + 1)

    def forward(self, ids):
        b = ids.shape[0]
        pad_mask = ids == self.pad_id
        tokens = self.semantic_embedding(ids.masked_fill(pad_mask, 0))
        start_tokens = self.start_token.expand(b, 1, -1)
        tokens = torch.cat((start_tokens, tokens), dim=1)
        tokens = self.transformer(tokens, key_padding_mask=F.pad(pad_mask, (1, 0), value=False))
        return self.to_logits(tokens)


class SemanticTransformerWrapper(nn.Module):
    def __init__(self, transformer, unique_consecutive=True):
        super().__init__()
        self.transformer = transformer
        self.unique_consecutive = unique_consecutive

    def forward(self, semantic_token_ids):
        pad_id = self.transformer.pad_id
        ids = append_eos_id(semantic_token_ids, self.transformer.eos_id)
        if self.unique_consecutive:
            ids = batch_unique_consecutive(ids, pad_value=pad_id)
        logits = self.transformer(ids[:, :-1])
        return F.cross_entropy(logits.transpose(1, 2), ids, ignore_index=pad_id)


frames = torch.randint(0, 50, (32, 120))
frames = torch.where(torch.rand(32, 120) < 0.5, frames, frames.roll(1, dims=1))
loader = DataLoader(TensorDataset(frames), batch_size=4, shuffle=True)
model = SemanticTransformerWrapper(SemanticTransformer(num_semantic_tokens=50, dim=64, depth=2))
optim = torch.optim.Adam(model.parameters(), lr=3e-4)
for step, (wave_tokens,) in enumerate(loader):
    loss = model(wave_tokens)
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(f'{step}: loss: {loss.item():.4f}')
