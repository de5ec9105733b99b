import torch
from torch import nn
from einops import rearrange, repeat
from torch.utils.data import TensorDataset, DataLoader


class PatchEmbeddings(nn.Module):
    def __init__(self, d_model, patch_size, in_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, d_model, patch_size, stride=patch_size)

    def forward(self, x):
        return rearrange(self.conv(x), "b d h w -> b (h w) d")


class LearnedPositionalEmbeddings(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        self.positional_encodings = nn.Parameter(torch.randn(max_len, d_model) * 0.02)

    def forward(self, x):
        return x + self.positional_encodings[:x.shape[1]]


class VisionTransformer(nn.Module):
    def __init__(self, d_model=32, n_layers=2, patch_size=4, n_classes=10):
        super().__init__()
        self.patch_emb = PatchEmbeddings(d_model, patch_size, 3)
        self.pos_emb = LearnedPositionalEmbeddings(d_model)
        self.cls_token_emb = nn.Parameter(torch.randn(1, 1, d_model))
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, n_layers)
        self.ln = nn.LayerNorm(d_model)
        self.classification = nn.Linear(d_model, n_classes)

    def forward(self, x):
        x = self.patch_emb(x)
        cls = repeat(self.cls_token_emb, "1 1 d -> b 1 d", b=x.shape[0])
        x = torch.cat([cls, x], dim=1)
        x = self.pos_emb(x)
        x = self.ln(self.layers(x))
        return self.classification(x[:, 0])


torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 3, 16, 16), torch.randint(0, 10, (48,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
model = VisionTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_func = nn.CrossEntropyLoss()

for epoch in range(2):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = loss_func(model(images), labels)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
