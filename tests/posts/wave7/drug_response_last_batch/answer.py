import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

VOCAB = 40
SMILES_LENGTH = 48
GENES = 64


class Squeeze(nn.Module):
    def forward(self, data):
        return torch.squeeze(data)


class DrugSensitivityDataset(Dataset):
    def __init__(self, size):
        rng = np.random.RandomState(3)
        self.smiles = torch.from_numpy(rng.randint(1, VOCAB, (size, SMILES_LENGTH))).long()
        self.genes = torch.from_numpy(rng.rand(size, GENES)).float()
        self.ic50 = torch.from_numpy(rng.rand(size, 1)).float()

    def __len__(self):
        return len(self.smiles)

    def __getitem__(self, index):
        return self.smiles[index], self.genes[index], self.ic50[index]


def convolutional_layer(num_kernel, kernel_size, dropout=0.3):
    return nn.Sequential(
        nn.Conv2d(1, num_kernel, kernel_size, padding=[kernel_size[0] // 2, 0]),
        Squeeze(),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.BatchNorm1d(num_kernel),
    )


class MCA(nn.Module):
    def __init__(self, embedding=16, filters=(24, 24), attention=32):
        super().__init__()
        self.smiles_embedding = nn.Embedding(VOCAB, embedding)
        self.convolutional_layers = nn.ModuleList(
            [convolutional_layer(f, [k, embedding]) for f, k in zip(filters, (3, 5))])
        self.gene_projection = nn.Linear(GENES, attention)
        self.smiles_projections = nn.ModuleList([nn.Linear(f, attention) for f in filters])
        self.scores = nn.ModuleList([nn.Linear(attention, 1) for f in filters])
        self.dense = nn.Sequential(
            nn.BatchNorm1d(sum(filters) + GENES), nn.Linear(sum(filters) + GENES, 64),
            nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, smiles, genes):
        embedded = self.smiles_embedding(smiles)
        context = self.gene_projection(genes).unsqueeze(1)
        encodings = [genes]
        for conv, project, score in zip(self.convolutional_layers, self.smiles_projections, self.scores):
            encoded = conv(embedded.unsqueeze(1)).permute(0, 2, 1)
            alphas = torch.softmax(score(torch.tanh(project(encoded) + context)), dim=1)
            encodings.append((alphas * encoded).sum(dim=1))
        return self.dense(torch.cat(encodings, dim=1))


torch.manual_seed(0)
model = MCA()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train_loader = DataLoader(DrugSensitivityDataset(256), batch_size=32, shuffle=True, drop_last=True)
test_loader = DataLoader(DrugSensitivityDataset(65), batch_size=32, shuffle=False, drop_last=True)

for epoch in range(2):
    model.train()
    for smiles, genes, y in train_loader:
        loss = nn.functional.mse_loss(model(smiles, genes), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'train loss', loss.item())

model.eval()
predictions = []
with torch.no_grad():
    for smiles, genes, y in test_loader:
        predictions.append(model(smiles, genes))
predictions = torch.cat(predictions).flatten()
print('predicted IC50 of', len(predictions), 'samples, mean', predictions.mean().item())
