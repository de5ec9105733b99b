import torch
import torch.nn as nn

torch.manual_seed(0)


def make_pose(n_ligand=8, n_protein=12):
    pos = torch.randn(n_ligand + n_protein, 3) * 2
    z = torch.randint(0, 5, (n_ligand + n_protein,))
    lig = torch.arange(n_ligand + n_protein) < n_ligand
    distance = torch.cdist(pos[lig], pos[~lig]).min()
    return {"z": z, "pos": pos, "lig": lig}, {"pIC50": 5.0 + distance.item()}


class InteractionBlock(nn.Module):
    def __init__(self, dim, num_gaussians=16, cutoff=5.0):
        super().__init__()
        self.register_buffer("offset", torch.linspace(0, cutoff, num_gaussians))
        self.filter = nn.Sequential(nn.Linear(num_gaussians, dim), nn.Softplus(), nn.Linear(dim, dim))
        self.lin1 = nn.Linear(dim, dim, bias=False)
        self.lin2 = nn.Sequential(nn.Linear(dim, dim), nn.Softplus(), nn.Linear(dim, dim))

    def forward(self, h, distances, adjacency):
        rbf = torch.exp(-2.0 * (distances.unsqueeze(-1) - self.offset) ** 2)
        weights = self.filter(rbf) * adjacency.unsqueeze(-1)
        return h + self.lin2((weights * self.lin1(h).unsqueeze(0)).sum(dim=1))


class SchNet(nn.Module):
    def __init__(self, dim=32, num_interactions=2, cutoff=5.0):
        super().__init__()
        self.cutoff = cutoff
        self.embedding = nn.Embedding(5, dim)
        self.interactions = nn.ModuleList([InteractionBlock(dim, cutoff=cutoff) for _ in range(num_interactions)])
        self.readout = nn.Sequential(nn.Linear(dim, dim // 2), nn.Softplus(), nn.Linear(dim // 2, 1))

    def energy(self, z, pos):
        distances = torch.cdist(pos, pos)
        adjacency = ((distances < self.cutoff) & ~torch.eye(len(z), dtype=torch.bool)).float()
        h = self.embedding(z)
        for interaction in self.interactions:
            h = interaction(h, distances, adjacency)
        return self.readout(h).sum(dim=0)

    def forward(self, pose):
        z, pos, lig = pose["z"], pose["pos"], pose["lig"]
        # delta G = complex - ligand - protein
        return self.energy(z, pos) - self.energy(z[lig], pos[lig]) - self.energy(z[~lig], pos[~lig])


def train(model, ds_train, ds_test, n_epochs, loss_fn, optimizer, batch_size=8):
    for epoch_idx in range(n_epochs):
        tmp_loss = []
        batch_counter = 0
        optimizer.zero_grad()
        batch_loss = None
        for pose, label in ds_train:
            pred = model(pose)
            target = torch.tensor(label["pIC50"])
            loss = loss_fn(pred, target)
            tmp_loss.append(loss.item())
            batch_loss = loss if batch_loss is None else batch_loss + loss
            batch_counter += 1
            if batch_counter == batch_size:
                (batch_loss / batch_counter).backward()
                optimizer.step()
                optimizer.zero_grad()
                batch_loss, batch_counter = None, 0
        with torch.no_grad():
            test = [abs(model(pose).item() - label["pIC50"]) for pose, label in ds_test]
        print(f"Epoch {epoch_idx}: train {sum(tmp_loss) / len(tmp_loss):.4f} test MAE {sum(test) / len(test):.4f}")


poses = [make_pose() for _ in range(40)]
model = SchNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train(model, poses[:32], poses[32:], 3, nn.MSELoss(), optimizer)
