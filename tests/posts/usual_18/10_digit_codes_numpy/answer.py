# Autoencoder on the digits, then cluster the codes with k-means
import numpy as np
import torch
import torch.nn as nn
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

digits = load_digits()
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = digits.target
loader = DataLoader(TensorDataset(X), batch_size=64, shuffle=True)


class Autoencoder(nn.Module):
    def __init__(self, code=10):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, code))
        self.decoder = nn.Sequential(nn.Linear(code, 48), nn.ReLU(), nn.Linear(48, 64), nn.Sigmoid())

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


ae = Autoencoder()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(ae.parameters(), lr=2e-3)

losses = []
for epoch in range(6):
    epoch_losses = []
    for (batch,) in loader:
        recon, _ = ae(batch)
        loss = criterion(recon, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_losses.append(loss.item())
    losses.append(np.mean(epoch_losses))
    print(f"Epoch {epoch + 1}: {losses[-1]:.4f}")

# codes of the whole data set
ae.eval()
with torch.no_grad():
    recon, codes = ae(X)

codes = codes.numpy()
codes = (codes - codes.mean(0)) / codes.std(0)
kmeans = KMeans(n_clusters=10, n_init=3, random_state=0).fit(codes)
print("ARI:", round(adjusted_rand_score(y, kmeans.labels_), 3))

# worst reconstructed pictures
errors = ((recon.detach().numpy() - X.numpy()) ** 2).mean(axis=1)
worst = np.argsort(errors)[::-1][:5]
for i in worst:
    print(f"picture {i} digit {y[i]} error {errors[i]:.4f}")
