import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CKPT = os.path.join(tempfile.mkdtemp(), "stage1.pt")


class Encoder(nn.Module):
    def __init__(self, in_dim=100, z=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, z))

    def forward(self, x):
        return self.net(x)


class AnomalyClassifier(nn.Module):
    def __init__(self, encoder, z=16):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.head(self.encoder(x))


def set_encoder_trainable(model, flag):
    for p in model.encoder.parameters():
        p.requires_grad = flag


def make_optimizer(model, lr):
    return torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=lr)


def train(model, optimizer, loader, epochs):
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"  epoch {epoch} loss {loss.item():.4f}")


x = torch.randn(400, 100)
y = (x[:, :3].sum(1) > 1).long()
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)

# autoencoder pretraining
encoder = Encoder()
decoder = nn.Linear(16, 100)
ae_opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)
for xb, _ in loader:
    ae_opt.zero_grad()
    F.mse_loss(decoder(encoder(xb)), xb).backward()
    ae_opt.step()

# stage 1: only the head
print("stage 1")
model = AnomalyClassifier(encoder)
set_encoder_trainable(model, False)
optimizer = make_optimizer(model, lr=1e-3)
train(model, optimizer, loader, epochs=2)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, CKPT)

# stage 2: restart from the file and fine-tune everything
print("stage 2")
ckpt = torch.load(CKPT)
model = AnomalyClassifier(Encoder())
model.load_state_dict(ckpt["model"])
set_encoder_trainable(model, True)
optimizer = make_optimizer(model, lr=1e-4)
optimizer.load_state_dict(ckpt["optimizer"])
train(model, optimizer, loader, epochs=2)
