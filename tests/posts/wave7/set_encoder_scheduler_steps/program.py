import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

DIM = 64


class ConceptSets(Dataset):
    """sets of image embeddings of one concept, with the word embedding of the concept"""

    def __init__(self, n, set_size=5, seed=0):
        g = torch.Generator().manual_seed(seed)
        project = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(99)) * DIM ** -0.5
        self.words = torch.randn(n, DIM, generator=g)
        centre = F.normalize(self.words @ project, dim=-1)
        self.images = F.normalize(centre[:, None] + 0.3 * torch.randn(n, set_size, DIM, generator=g), dim=-1)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, idx):
        return self.images[idx], self.words[idx]


class DeepSet(nn.Module):
    def __init__(self, d_dim=128):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(DIM, d_dim), nn.ReLU(), nn.Dropout(0.1), nn.Linear(d_dim, d_dim), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(d_dim, d_dim), nn.ReLU(), nn.Linear(d_dim, DIM))

    def forward(self, x):
        return self.rho(self.phi(x).mean(dim=1))


def contrastive_loss(pred, target, temperature=0.1):
    logits = F.normalize(pred, dim=-1) @ F.normalize(target, dim=-1).t() / temperature
    labels = torch.arange(len(pred), device=pred.device)
    loss = 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))
    return loss, (logits.argmax(1) == labels).float().mean()


def run_epoch(model, dataloader, optimizer, scheduler, device, is_train):
    model.train(is_train)
    total_loss, total_acc = 0.0, 0.0
    for images, words in dataloader:
        images, words = images.to(device), words.to(device)
        with torch.set_grad_enabled(is_train):
            pred = model(images)
            loss, acc = contrastive_loss(pred, words)
        if is_train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        total_loss += loss.item()
        total_acc += acc.item()
    return total_loss / len(dataloader), total_acc / len(dataloader)


def main(args):
    torch.manual_seed(args.seed)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    train_dataloader = DataLoader(ConceptSets(512), batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_dataloader = DataLoader(ConceptSets(256, seed=1), batch_size=args.batch_size)
    model = DeepSet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.step_size, gamma=0.5)

    for epoch in range(args.epochs):
        train_loss, train_acc = run_epoch(model, train_dataloader, optimizer, scheduler, device, is_train=True)
        test_loss, test_acc = run_epoch(model, test_dataloader, optimizer, scheduler, device, is_train=False)
        print(f'Epoch {epoch}: train loss {train_loss:.3f} acc {train_acc:.3f} | '
              f'test loss {test_loss:.3f} acc {test_acc:.3f} | lr {scheduler.get_last_lr()[0]:.2e}')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--batch_size', type=int, default=64)
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--step_size', type=int, default=24)
    parser.add_argument('--seed', type=int, default=0)
    main(parser.parse_args())
