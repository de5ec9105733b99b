import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

MELS = 80
FRAMES = 1600
TOKENS = 4233
BATCH_SIZE = 24


class Utterances(Dataset):
    def __init__(self, n=4800):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.randn(FRAMES, MELS), torch.randint(1, TOKENS, (40,))


class Layer(nn.Module):
    def __init__(self, dim=256, heads=4, hidden=2048):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.w1 = nn.Linear(dim, hidden)
        self.w2 = nn.Linear(hidden, dim)
        self.dropout = nn.Dropout(0.1)

    def attend(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * self.scale
        scores = scores.masked_fill(mask, -float("inf"))
        attn = self.dropout(scores.softmax(dim=-1))
        return self.out((attn @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x, mask):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.dropout(self.w2(F.silu(self.w1(self.norm2(x)))))


class Encoder(nn.Module):
    def __init__(self, dim=256, layers=12):
        super().__init__()
        self.input_layer = nn.Sequential(nn.Linear(MELS, dim), nn.LayerNorm(dim), nn.ReLU())
        self.layers = nn.ModuleList([Layer(dim) for _ in range(layers)])
        self.ctc = nn.Linear(dim, TOKENS)

    def forward(self, x, mask):
        x = self.input_layer(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.ctc(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Utterances(), batch_size=BATCH_SIZE, shuffle=True)
model = Encoder().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for speech, text in loader:
        speech, text = speech.to(device), text.to(device)
        mask = torch.zeros(len(speech), 1, 1, FRAMES, dtype=torch.bool, device=device)
        log_probs = model(speech, mask).log_softmax(dim=-1).transpose(0, 1)
        frames = torch.full((len(speech),), FRAMES)
        lengths = torch.full((len(speech),), text.shape[1])
        loss = F.ctc_loss(log_probs, text, frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
