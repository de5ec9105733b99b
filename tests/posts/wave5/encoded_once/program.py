import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, n_in, n_code):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, n_code))
        self.dec = nn.Sequential(nn.Linear(n_code, 32), nn.Tanh(), nn.Linear(32, n_in))

    def forward(self, x):
        code = self.enc(x)
        return code, F.mse_loss(self.dec(code), x)


class Classifier(nn.Module):
    def __init__(self, n_code, n_classes):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_code, 24), nn.ReLU(), nn.Linear(24, n_classes))

    def forward(self, x, y):
        out = self.net(x)
        loss = F.cross_entropy(out, y)
        accuracy = (out.argmax(1) == y).float().mean()
        return out, loss, accuracy


X = torch.randn(200, 20)
y = (X[:, 0] > 0).long()

autoencoder = AutoEncoder(20, 6)
opt = torch.optim.Adam(autoencoder.parameters(), lr=1e-2)
for step in range(30):
    _, loss = autoencoder(X)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("autoencoder", loss.item())

autoencoder.eval()
X_code, _ = autoencoder(X)

model = Classifier(6, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
batch_size = 40
for it in range(5):
    start = 0
    while start < len(X_code):
        end = min(start + batch_size, len(X_code))
        out, loss, accuracy = model(X_code[start:end], y[start:end])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        start = end
    print(it, loss.item(), accuracy.item())
