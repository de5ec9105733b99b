"""Attention augmented convolution for small images."""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class AugmentedConv(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, dk, dv, heads):
        super().__init__()
        assert dk % heads == 0 and dv % heads == 0
        self.dk, self.dv, self.heads = dk, dv, heads
        self.conv_out = nn.Conv2d(in_channels, out_channels - dv, kernel_size, padding=kernel_size // 2)
        self.qkv_conv = nn.Conv2d(in_channels, 2 * dk + dv, kernel_size=1)
        self.attn_out = nn.Conv2d(dv, dv, kernel_size=1)

    def split_heads(self, x):
        n, channels, h, w = x.shape
        return x.reshape(n, self.heads, channels // self.heads, h, w)

    def combine_heads(self, x):
        n, heads, dv, h, w = x.shape
        return x.reshape(n, heads * dv, h, w)

    def compute_flat_qkv(self, x):
        q, k, v = torch.split(self.qkv_conv(x), [self.dk, self.dk, self.dv], dim=1)
        q = self.split_heads(q) * (self.dk // self.heads) ** -0.5
        k, v = self.split_heads(k), self.split_heads(v)
        return q.flatten(3), k.flatten(3), v.flatten(3)

    def forward(self, x):
        # x: (batch, channels, height, width)
        batch, _, height, width = x.shape
        conv_out = self.conv_out(x)
        # flat_q, flat_k, flat_v: (batch, heads, dim per head, height * width)
        flat_q, flat_k, flat_v = self.compute_flat_qkv(x)
        logits = torch.matmul(flat_q.transpose(2, 3), flat_k)
        weights = F.softmax(logits, dim=-1)
        attn_out = torch.matmul(weights, flat_v.transpose(2, 3))
        attn_out = torch.reshape(attn_out.transpose(2, 3), (batch, self.heads, self.dv // self.heads, height, width))
        attn_out = self.attn_out(self.combine_heads(attn_out))
        return torch.cat((conv_out, attn_out), dim=1)


class SmallNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.block1 = AugmentedConv(3, 24, 3, dk=16, dv=8, heads=2)
        self.bn1 = nn.BatchNorm2d(24)
        self.block2 = AugmentedConv(24, 32, 3, dk=16, dv=8, heads=2)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.block1(x))), 2)
        x = F.relu(self.bn2(self.block2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def make_images(n, num_classes=4, size=12):
    labels = torch.randint(0, num_classes, (n,))
    images = 0.3 * torch.randn(n, 3, size, size)
    half = size // 2
    for i, label in enumerate(labels.tolist()):
        row, col = (label // 2) * half, (label % 2) * half
        images[i, label % 3, row:row + half, col:col + half] += 1.0
    return images, labels


def train(model, images, labels, epochs=5, batch_size=32):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(images)).split(batch_size):
            data, target = images[idx].to(device), labels[idx].to(device)
            optimizer.zero_grad()
            loss = criterion(model(data), target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: loss {total / len(images):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = make_images(256)
    model = SmallNet(num_classes=4).to(device)
    train(model, x, y)
    model.eval()
    with torch.no_grad():
        acc = (model(x.to(device)).argmax(1).cpu() == y).float().mean().item()
    print(f"accuracy {acc:.3f}")
