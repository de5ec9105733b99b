import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PatchEmbeddings(nn.Module):
    def __init__(self, image_size, patch_size, num_channels, hidden_size):
        super().__init__()
        self.num_patches = (image_size // patch_size) ** 2
        self.projection = nn.Conv2d(num_channels, hidden_size, kernel_size=patch_size, stride=patch_size)
        self.cls_token = nn.Parameter(torch.randn(1, 1, hidden_size))
        self.position_embeddings = nn.Parameter(torch.randn(1, self.num_patches + 1, hidden_size))

    def forward(self, x):
        x = self.projection(x).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(x.size(0), -1, -1)
        return torch.cat((cls, x), dim=1) + self.position_embeddings


class SelfAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads
        self.all_head_size = num_heads * self.head_size
        self.query = nn.Linear(hidden_size, self.all_head_size)
        self.key = nn.Linear(hidden_size, self.all_head_size)
        self.value = nn.Linear(hidden_size, self.all_head_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        bsz = x.size(0)
        q = self.query(x).view(bsz, -1, self.num_heads, self.head_size).transpose(1, 2)
        k = self.key(x).view(bsz, -1, self.num_heads, self.head_size).transpose(1, 2)
        v = self.value(x).view(bsz, -1, self.num_heads, self.head_size).transpose(1, 2)

        att = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_size)
        att = F.softmax(att, dim=-1)
        att = self.dropout(att)
        y = torch.matmul(att, v)

        y = y.transpose(1, 2).contiguous().view(bsz, -1, self.all_head_size)
        return y


class Layer(nn.Module):
    def __init__(self, hidden_size, intermediate_size, num_heads, dropout):
        super().__init__()
        self.attention = SelfAttention(hidden_size, num_heads, dropout)
        self.proj = nn.Linear(hidden_size, hidden_size)
        self.layernorm_before = nn.LayerNorm(hidden_size)
        self.layernorm_after = nn.LayerNorm(hidden_size)
        self.intermediate = nn.Linear(hidden_size, intermediate_size)
        self.output = nn.Linear(intermediate_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.proj(self.attention(self.layernorm_before(x))))
        return x + self.dropout(self.output(F.gelu(self.intermediate(self.layernorm_after(x)))))


class ViT(nn.Module):
    def __init__(self, image_size=32, patch_size=4, hidden_size=96, layers=3, heads=6, num_labels=10):
        super().__init__()
        self.embeddings = PatchEmbeddings(image_size, patch_size, 3, hidden_size)
        self.encoder = nn.ModuleList([Layer(hidden_size, hidden_size * 4, heads, 0.1) for _ in range(layers)])
        self.layernorm = nn.LayerNorm(hidden_size)
        self.classifier = nn.Linear(hidden_size, num_labels)

    def forward(self, x):
        x = self.embeddings(x)
        for layer in self.encoder:
            x = layer(x)
        return self.classifier(self.layernorm(x)[:, 0])


train_set = TensorDataset(torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,)))
loader = DataLoader(train_set, batch_size=16, shuffle=True)
model = ViT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
