import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
VOCAB, MAX_LEN = 120, 40


class SelfAttention(nn.Module):
    def __init__(self, d_model=64, n_heads=8):
        super(SelfAttention, self).__init__()
        self.n_heads = n_heads
        self.key_dim = self.value_dim = d_model // n_heads
        self.scale = self.key_dim ** -0.5
        self.Wq = nn.ParameterList([nn.Parameter(torch.empty(d_model, self.key_dim)) for _ in range(n_heads)])
        self.Wk = nn.ParameterList([nn.Parameter(torch.empty(d_model, self.key_dim)) for _ in range(n_heads)])
        self.Wv = nn.ParameterList([nn.Parameter(torch.empty(d_model, self.value_dim)) for _ in range(n_heads)])
        self.Wo = nn.Parameter(torch.empty(d_model, d_model))
        for w in self.parameters():
            nn.init.xavier_uniform_(w)

    def forward(self, x, mask):
        batch_size, l, _ = x.shape
        heads = torch.zeros(self.n_heads, batch_size, l, self.value_dim, device=x.device)
        hmask = mask.unsqueeze(1)
        for i in range(self.n_heads):
            q = torch.matmul(x, self.Wq[i])
            k = torch.matmul(x, self.Wk[i])
            v = torch.matmul(x, self.Wv[i])
            scores = torch.bmm(q, k.transpose(1, 2)) * self.scale
            scores = scores.masked_fill(hmask == 0, -1e30)
            heads[i] = torch.bmm(F.softmax(scores, dim=2), v)
        x = heads.permute(1, 2, 0, 3).contiguous().view(batch_size, l, -1)
        return torch.matmul(x, self.Wo)


class EncoderBlock(nn.Module):
    def __init__(self, d_model=64, kernel_size=5):
        super(EncoderBlock, self).__init__()
        self.depthwise = nn.Conv1d(d_model, d_model, kernel_size, padding=kernel_size // 2, groups=d_model)
        self.pointwise = nn.Conv1d(d_model, d_model, 1)
        self.self_att = SelfAttention(d_model)
        self.fc = nn.Linear(d_model, d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])

    def forward(self, x, mask):
        x = x + F.relu(self.pointwise(self.depthwise(self.norms[0](x).transpose(1, 2)))).transpose(1, 2)
        x = x + self.self_att(self.norms[1](x), mask)
        return x + F.relu(self.fc(self.norms[2](x)))


class QANet(nn.Module):
    def __init__(self, d_model=64):
        super(QANet, self).__init__()
        self.word = nn.Embedding(VOCAB, d_model, padding_idx=0)
        self.position = nn.Embedding(MAX_LEN, d_model)
        self.blocks = nn.ModuleList([EncoderBlock(d_model) for _ in range(2)])
        self.start = nn.Linear(d_model, 1)
        self.end = nn.Linear(d_model, 1)

    def forward(self, tokens):
        mask = (tokens != 0).float()
        x = self.word(tokens) + self.position(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            x = block(x, mask)
        p1 = self.start(x).squeeze(2).masked_fill(mask == 0, -1e30)
        p2 = self.end(x).squeeze(2).masked_fill(mask == 0, -1e30)
        return p1, p2


def batch(size=16):
    tokens = torch.randint(10, VOCAB, (size, MAX_LEN))
    start = torch.randint(0, MAX_LEN - 12, (size,))
    for row, s in zip(tokens, start.tolist()):
        row[s], row[s + 3] = 5, 6
        row[torch.randint(s + 4, MAX_LEN, (1,)).item():] = 0
    return tokens, start, start + 3


torch.manual_seed(3)
model = QANet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.8, 0.999))
for step in range(40):
    tokens, y1, y2 = [t.to(device) for t in batch()]
    p1, p2 = model(tokens)
    loss = F.cross_entropy(p1, y1) + F.cross_entropy(p2, y2)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 10 == 9:
        em = ((p1.argmax(1) == y1) & (p2.argmax(1) == y2)).float().mean()
        print('STEP %d loss %.4f em %.3f' % (step + 1, loss.item(), em.item()))
