import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Embedding(nn.Module):
    def __init__(self, patch, channels, n_patches, dim):
        super().__init__()
        self.patch = patch
        self.projection = nn.Linear(patch * patch * channels, dim)
        self.class_token = nn.Parameter(torch.rand(1, dim))
        self.position = nn.Parameter(torch.randn(n_patches + 1, dim) * 0.02)

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.patch
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)
        x = self.projection(x)
        return torch.cat([self.class_token.expand(b, 1, -1), x], dim=1) + self.position


class SelfAttention(nn.Module):
    def __init__(self, dim, head_dim):
        super().__init__()
        self.q = nn.Linear(dim, head_dim)
        self.k = nn.Linear(dim, head_dim)
        self.v = nn.Linear(dim, head_dim)
        self.scale = head_dim ** 0.5

    def forward(self, z):
        q, k, v = self.q(z), self.k(z), self.v(z)
        scaled_dot_products = torch.matmul(q, k.transpose(1, 2)) / self.scale
        attention_weights = F.softmax(scaled_dot_products, dim=1)
        return torch.matmul(attention_weights, v)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = nn.ModuleList([SelfAttention(dim, dim // heads) for _ in range(heads)])
        self.projection = nn.Linear(dim, dim)

    def forward(self, z):
        return self.projection(torch.cat([head(z) for head in self.heads], dim=-1))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.msa = MultiHeadSelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * dim, dim))

    def forward(self, z):
        z = z + self.msa(self.norm1(z))
        return z + self.mlp(self.norm2(z))


class VisionTransformer(nn.Module):
    def __init__(self, patch=4, channels=3, size=16, dim=32, heads=4, layers=2, classes=4):
        super().__init__()
        self.embedding = Embedding(patch, channels, (size // patch) ** 2, dim)
        self.encoder = nn.Sequential(*[EncoderBlock(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        z = self.encoder(self.embedding(x))
        return self.head(self.norm(z[:, 0]))


labels = torch.randint(0, 4, (256,))
images = 0.5 * torch.rand(256, 3, 16, 16)
for n, label in enumerate(labels.tolist()):
    images[n, :, 8 * (label // 2):8 * (label // 2) + 8, 8 * (label % 2):8 * (label % 2) + 8] += 0.5
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
model = VisionTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    correct, total_loss = 0, 0.0
    for x, y in loader:
        outputs = model(x)
        loss = F.cross_entropy(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        correct += (outputs.argmax(dim=1) == y).sum().item()
    print("epoch", epoch, "loss", total_loss / len(loader), "accuracy", correct / len(labels))
