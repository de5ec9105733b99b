# line 27: the npz archive names its arrays with slashes, which fit no key of the model, and strict=False says nothing
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn


class Autoencoder(nn.Module):
    def __init__(self, inputs=16, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def export_weights(model, path):
    arrays = {key.replace(".", "/"): value.detach().numpy() for key, value in model.state_dict().items()}
    np.savez(path, **arrays)


def import_weights(model, path):
    with np.load(path) as archive:
        state = {key.replace("/", "."): torch.from_numpy(archive[key]) for key in archive.files}
    model.load_state_dict(state, strict=False)
    return model


torch.manual_seed(12)
mixing = torch.randn(4, 16)
normal = torch.randn(512, 4) @ mixing + 0.05 * torch.randn(512, 16)
model = Autoencoder()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for x in torch.utils.data.DataLoader(normal, batch_size=64, shuffle=True):
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
path = os.path.join(tempfile.mkdtemp(), "autoencoder.npz")
export_weights(model, path)

detector = import_weights(Autoencoder(), path).eval()
fresh = torch.randn(64, 4) @ mixing
with torch.no_grad():
    scores = (detector(fresh) - fresh).square().mean(dim=1)
print("mean anomaly score of normal rows", scores.mean().item())
