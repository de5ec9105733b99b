import math
import random
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

PAD, SOS, EOS = 0, 1, 2
VOCAB = 20
MAX_LEN = 12


class ReverseDataset(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [[rng.randint(3, VOCAB - 1) for _ in range(rng.randint(4, MAX_LEN - 2))]
                     for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        src = [SOS] + row + [EOS]
        trg = [SOS] + row[::-1] + [EOS]
        fill = [PAD] * (MAX_LEN - len(src))
        return torch.tensor(src + fill), torch.tensor(trg + fill)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = (q @ k.transpose(2, 3)) / math.sqrt(q.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        out = torch.softmax(score, dim=-1) @ v
        return self.w_concat(self.concat(out))

    def split(self, tensor):
        batch_size, length, d_model = tensor.size()
        d_tensor = d_model // self.n_head
        return tensor.view(batch_size, length, self.n_head, d_tensor).transpose(1, 2)

    def concat(self, tensor):
        batch_size, head, length, d_tensor = tensor.size()
        return tensor.transpose(1, 2).contiguous().view(batch_size, length, head * d_tensor)


class Layer(nn.Module):
    def __init__(self, d_model, n_head, cross):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross = MultiHeadAttention(d_model, n_head) if cross else None
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, 128), nn.ReLU(), nn.Linear(128, d_model))
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, mask, enc=None, enc_mask=None):
        x = self.norm1(x + self.attention(x, x, x, mask))
        if self.cross is not None:
            x = self.norm2(x + self.cross(x, enc, enc, enc_mask))
        return self.norm3(x + self.ffn(x))


class Transformer(nn.Module):
    def __init__(self, d_model=64, n_head=4):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d_model, padding_idx=PAD)
        self.pos = nn.Embedding(MAX_LEN, d_model)
        self.encoder = Layer(d_model, n_head, cross=False)
        self.decoder = Layer(d_model, n_head, cross=True)
        self.linear = nn.Linear(d_model, VOCAB)

    def embed(self, x):
        return self.tok(x) + self.pos(torch.arange(x.size(1), device=x.device))

    def forward(self, src, trg):
        src_mask = (src != PAD).unsqueeze(1).unsqueeze(2)
        t = trg.size(1)
        trg_mask = (trg != PAD).unsqueeze(1).unsqueeze(2) & torch.ones(t, t, dtype=torch.bool).tril()
        enc = self.encoder(self.embed(src), src_mask)
        dec = self.decoder(self.embed(trg), trg_mask, enc, src_mask)
        return self.linear(dec)


def run():
    torch.manual_seed(0)
    train_iter = DataLoader(ReverseDataset(2000, 0), batch_size=64, shuffle=True)
    valid_iter = DataLoader(ReverseDataset(200, 1), batch_size=64)
    model = Transformer()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for epoch in range(5):
        model.train()
        for src, trg in train_iter:
            optimizer.zero_grad()
            output = model(src, trg[:, :-1])
            loss = criterion(output.reshape(-1, VOCAB), trg[:, 1:].reshape(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = [criterion(model(s, t[:, :-1]).reshape(-1, VOCAB), t[:, 1:].reshape(-1)).item()
                      for s, t in valid_iter]
        print('epoch', epoch + 1, 'train %.3f' % loss.item(), 'valid %.3f' % (sum(losses) / len(losses)))


if __name__ == '__main__':
    run()
