import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

AMINO = 'ACDEFGHIKLMNPQRSTVWY'
torch.manual_seed(2)


class Peptides(Dataset):
    """Pairs of a peptide and the pseudo sequence of an MHC molecule, with the affinity in 0..1."""

    def __init__(self, n):
        g = torch.Generator().manual_seed(n)
        self.peptide = torch.randint(1, len(AMINO) + 1, (n, 24), generator=g)
        self.mhc = torch.randint(1, len(AMINO) + 1, (n, 34), generator=g)
        self.affinity = torch.rand(n, generator=g)

    def __len__(self):
        return len(self.affinity)

    def __getitem__(self, i):
        return torch.cat([self.peptide[i], self.mhc[i]]), self.affinity[i]


class BindingModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(len(AMINO) + 1, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.classify = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, tokens):
        hidden = self.encoder(self.embed(tokens))
        return torch.sigmoid(self.classify(hidden.mean(dim=1))).squeeze(-1)


def train(prefix):
    model = BindingModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for tokens, affinity in DataLoader(Peptides(80), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(tokens), affinity)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), prefix + '_model.pt')
    torch.save(optimizer.state_dict(), prefix + '_optim.pt')
    print('trained, last loss %.4f' % loss.item())


def predict(checkpoint):
    model = BindingModel()
    state = torch.load(checkpoint, map_location='cpu')
    model.load_state_dict(state)
    model.eval()
    scores = []
    with torch.no_grad():
        for tokens, _ in DataLoader(Peptides(50), batch_size=32):
            scores.append(model(tokens))
    return torch.cat(scores)


train('binding')
scores = predict('binding_model.pt')
print('predicted', scores.shape, 'mean %.3f' % scores.mean().item())
