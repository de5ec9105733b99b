# %% Autoregressive transformer on the code indices of a (frozen) vector quantizer
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
NUM_CODES = 16
BOS = NUM_CODES
SIDE = 4


# %% scans
def make_scans(n):
    ramp = torch.linspace(-1, 1, 16)
    shift = torch.rand(n, 1, 1) * 2 - 1
    img = torch.sin(3 * (ramp[None, :, None] + shift)) + torch.cos(2 * (ramp[None, None, :] - shift))
    return (img + 0.05 * torch.randn(n, 16, 16)).unsqueeze(1)


# %% quantizer
class PatchQuantizer(nn.Module):
    def __init__(self, num_codes, dim=16):
        super().__init__()
        self.unfold = nn.Unfold(4, stride=4)
        self.register_buffer("codebook", torch.randn(num_codes, dim))

    @torch.no_grad()
    def fit(self, images, rounds=10):
        patches = self.unfold(images).transpose(1, 2).reshape(-1, self.codebook.size(1))
        self.codebook.copy_(patches[torch.randperm(len(patches))[: len(self.codebook)]])
        for _ in range(rounds):
            owner = torch.cdist(patches, self.codebook).argmin(1)
            for c in range(len(self.codebook)):
                if (owner == c).any():
                    self.codebook[c] = patches[owner == c].mean(0)

    @torch.no_grad()
    def index_quantize(self, images):
        patches = self.unfold(images).transpose(1, 2)
        return torch.cdist(patches, self.codebook.expand(len(images), -1, -1)).argmin(-1)


# %% transformer
class DecoderOnly(nn.Module):
    def __init__(self, num_tokens, max_len, dim=48, heads=4, depth=2):
        super().__init__()
        self.token = nn.Embedding(num_tokens, dim)
        self.position = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth)
        self.to_logits = nn.Linear(dim, num_tokens)

    def forward(self, x):
        n = x.size(1)
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        h = self.token(x) + self.position(torch.arange(n))
        return self.to_logits(self.blocks(h, mask=causal))


@torch.no_grad()
def sample(model, n):
    seq = torch.full((n, 1), BOS)
    for _ in range(SIDE * SIDE):
        probs = model(seq)[:, -1, :NUM_CODES].softmax(-1)
        seq = torch.cat([seq, torch.multinomial(probs, 1)], dim=1)
    return seq[:, 1:]


# %% training
quantizer = PatchQuantizer(NUM_CODES)
scans = make_scans(256)
quantizer.fit(scans)
loader = DataLoader(TensorDataset(scans), batch_size=32, shuffle=True)

transformer = DecoderOnly(NUM_CODES + 1, SIDE * SIDE + 1)
optimizer = torch.optim.Adam(transformer.parameters(), lr=2e-3)
ce_loss = nn.CrossEntropyLoss()

for epoch in range(12):
    transformer.train()
    epoch_loss = 0.0
    for (images,) in loader:
        codes = quantizer.index_quantize(images)
        latent = torch.cat([torch.full((len(codes), 1), BOS), codes], dim=1)
        logits = transformer(latent).transpose(1, 2)
        loss = ce_loss(logits[:, :, :-1], latent[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch}: ce {epoch_loss / len(loader):.4f}")

# %% samples against real scans
transformer.eval()
drawn = sample(transformer, 64)
real = quantizer.index_quantize(make_scans(64))
print("different codes per sample:", [len(set(r.tolist())) for r in drawn[:6]])
print("different codes per scan:  ", [len(set(r.tolist())) for r in real[:6]])
