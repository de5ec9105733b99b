import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

N_PEOPLE = 10
EMBED = 64
MARGIN = 0.5
BATCH = 32
EPOCHS = 2

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TripletFaces(Dataset):
    def __init__(self, n_triplets, seed=0):
        self.rng = np.random.RandomState(seed)
        self.prototypes = self.rng.randn(N_PEOPLE, 3, 32, 32).astype(np.float32)
        self.triplets = []
        for _ in range(n_triplets):
            c1, c2 = self.rng.choice(N_PEOPLE, 2, replace=False)
            self.triplets.append((c1, c2))

    def shot(self, person):
        return self.prototypes[person] + self.rng.randn(3, 32, 32).astype(np.float32)

    def __getitem__(self, i):
        c1, c2 = self.triplets[i]
        return self.shot(c1), self.shot(c1), self.shot(c2), c1, c2

    def __len__(self):
        return len(self.triplets)


class FaceModel(nn.Module):
    def __init__(self, embedding_size, num_classes):
        super(FaceModel, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Linear(32 * 4, embedding_size)
        self.classifier = nn.Linear(embedding_size, num_classes)

    def forward(self, x):
        h = self.fc(self.conv(x).flatten(1))
        return 10 * F.normalize(h, dim=1)

    def forward_classifier(self, x):
        return self.classifier(self.forward(x))


def l2_dist(a, b):
    return torch.norm(a - b, p=2, dim=1)


def train(loader, model, optimizer, epoch):
    model.train()
    ce = nn.CrossEntropyLoss()
    triplet = nn.TripletMarginLoss(margin=MARGIN)
    for batch_idx, (data_a, data_p, data_n, label_p, label_n) in enumerate(loader):
        data_a, data_p, data_n = data_a.to(device), data_p.to(device), data_n.to(device)
        out_a, out_p, out_n = model(data_a), model(data_p), model(data_n)

        d_p = l2_dist(out_a, out_p)
        d_n = l2_dist(out_a, out_n)
        hard_triplets = np.where((d_n - d_p < MARGIN).cpu().numpy().flatten() == 1)[0]
        if len(hard_triplets) == 0:
            continue

        out_selected_a = torch.from_numpy(out_a.cpu().data.numpy()[hard_triplets]).to(device)
        out_selected_p = torch.from_numpy(out_p.cpu().data.numpy()[hard_triplets]).to(device)
        out_selected_n = torch.from_numpy(out_n.cpu().data.numpy()[hard_triplets]).to(device)
        triplet_loss = triplet(out_selected_a, out_selected_p, out_selected_n)

        cls_a = model.forward_classifier(data_a[hard_triplets])
        cls_p = model.forward_classifier(data_p[hard_triplets])
        cls_n = model.forward_classifier(data_n[hard_triplets])
        target = torch.cat([label_p[hard_triplets], label_p[hard_triplets], label_n[hard_triplets]]).to(device)
        ce_loss = ce(torch.cat([cls_a, cls_p, cls_n]), target)

        loss = ce_loss + triplet_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch_idx % 4 == 0:
            print("epoch %d [%d/%d] loss %.4f (ce %.4f triplet %.4f) hard %d" % (
                epoch, batch_idx, len(loader), loss.item(), ce_loss.item(), triplet_loss.item(), len(hard_triplets)))


def test(loader, model):
    model.eval()
    same, diff = [], []
    with torch.no_grad():
        for a, p, n, _, _ in loader:
            e = model(a.to(device))
            same.append(l2_dist(e, model(p.to(device))).cpu())
            diff.append(l2_dist(e, model(n.to(device))).cpu())
    same, diff = torch.cat(same), torch.cat(diff)
    print("same %.3f  different %.3f  right order %.3f" % (same.mean(), diff.mean(), (same < diff).float().mean()))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = FaceModel(EMBED, N_PEOPLE).to(device)
    optimizer = optim.Adagrad(model.parameters(), lr=0.01)
    train_loader = DataLoader(TripletFaces(320), batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(TripletFaces(96), batch_size=BATCH)
    for epoch in range(EPOCHS):
        train(train_loader, model, optimizer, epoch)
        test(test_loader, model)
