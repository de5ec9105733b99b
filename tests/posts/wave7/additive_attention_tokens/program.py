import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EfficientAdditiveAttention(nn.Module):
    """additive attention with one global query, linear in the number of tokens"""

    def __init__(self, in_dims=64, token_dim=32, num_heads=2):
        super().__init__()
        self.to_query = nn.Linear(in_dims, token_dim * num_heads)
        self.to_key = nn.Linear(in_dims, token_dim * num_heads)
        self.w_g = nn.Parameter(torch.randn(token_dim * num_heads, 1))
        self.scale_factor = token_dim ** -0.5
        self.Proj = nn.Linear(token_dim * num_heads, token_dim * num_heads)
        self.final = nn.Linear(token_dim * num_heads, token_dim)

    def forward(self, x):
        query = F.normalize(self.to_query(x), dim=-1)
        key = F.normalize(self.to_key(x), dim=-1)
        query_weight = query @ self.w_g  # B, N, 1
        A = query_weight * self.scale_factor
        A = A.softmax(dim=-1)
        G = torch.sum(A * query, dim=1)  # B, D
        G = G.unsqueeze(1).expand(-1, key.shape[1], -1)
        out = self.Proj(G * key) + query
        return self.final(out)


class SwiftEncoder(nn.Module):
    def __init__(self, dim, mlp_ratio=2):
        super().__init__()
        self.local = nn.Sequential(
            nn.Conv2d(dim, dim, 3, padding=1, groups=dim), nn.BatchNorm2d(dim), nn.Conv2d(dim, dim, 1))
        self.attn = EfficientAdditiveAttention(in_dims=dim, token_dim=dim, num_heads=1)
        self.mlp = nn.Sequential(
            nn.BatchNorm2d(dim), nn.Conv2d(dim, dim * mlp_ratio, 1), nn.GELU(), nn.Conv2d(dim * mlp_ratio, dim, 1))

    def forward(self, x):
        x = x + self.local(x)
        B, C, H, W = x.shape
        tokens = x.permute(0, 2, 3, 1).reshape(B, H * W, C)
        x = x + self.attn(tokens).reshape(B, H, W, C).permute(0, 3, 1, 2)
        return x + self.mlp(x)


class SwiftFormer(nn.Module):
    def __init__(self, num_classes=5, dim=32, depth=2):
        super().__init__()
        self.patch_embed = nn.Sequential(
            nn.Conv2d(3, dim // 2, 3, stride=2, padding=1), nn.BatchNorm2d(dim // 2), nn.ReLU(),
            nn.Conv2d(dim // 2, dim, 3, stride=2, padding=1), nn.BatchNorm2d(dim), nn.ReLU())
        self.network = nn.Sequential(*[SwiftEncoder(dim) for _ in range(depth)])
        self.norm = nn.BatchNorm2d(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.norm(self.network(self.patch_embed(x)))
        return self.head(x.flatten(2).mean(-1))


torch.manual_seed(0)
labels = torch.randint(0, 5, (256,))
images = torch.randn(256, 3, 32, 32)
for image, label in zip(images, labels):
    image[:, label * 6:label * 6 + 6, 4:10] += 2.0
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

model = SwiftFormer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.025)
for epoch in range(4):
    correct = 0
    for x, y in loader:
        output = model(x)
        loss = F.cross_entropy(output, y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (output.argmax(1) == y).sum().item()
    print(f'epoch {epoch} loss {loss.item():.4f} acc {correct / len(labels):.3f}')
