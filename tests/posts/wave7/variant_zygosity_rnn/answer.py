import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class PileupDataset(Dataset):
    """summarised pileups: window x (counts of A, C, G, T, gap on both strands)"""

    def __init__(self, n=768, window=31, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 3, (n,), generator=g)
        depth = torch.rand(n, window, 10, generator=g)
        alt = torch.tensor([0.0, 0.5, 1.0])[self.y]
        depth[:, window // 2, 0] += 1 - alt
        depth[:, window // 2, 1] += alt
        self.x = depth

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ConsensusRNN(nn.Module):
    def __init__(self, input_feature_size=10, gru_size=64, gru_layers=1, num_output_logits=3):
        super().__init__()
        self.gru = nn.GRU(input_feature_size, gru_size, gru_layers, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(2 * gru_size, num_output_logits)

    def forward(self, encoding):
        encoding, _ = self.gru(encoding)
        centre = encoding[:, encoding.shape[1] // 2]
        encoding = self.classifier(centre)
        return encoding


class ModelTrainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train(self, dataloader, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for encoding, label in dataloader:
                self.optimizer.zero_grad()
                loss = self.loss(self.model(encoding), label)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print("epoch {}: training loss {:.4f}".format(epoch, total / len(dataloader)))

    def evaluate(self, dataloader):
        self.model.eval()
        correct, count = 0, 0
        with torch.no_grad():
            for encoding, label in dataloader:
                prediction = self.model(encoding).argmax(dim=1)
                correct += (prediction == label).sum().item()
                count += len(label)
        return correct / count


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(PileupDataset(), batch_size=32, shuffle=True)
    eval_loader = DataLoader(PileupDataset(n=192, seed=1), batch_size=64)
    trainer = ModelTrainer(ConsensusRNN())
    trainer.train(train_loader, epochs=4)
    print("accuracy", trainer.evaluate(eval_loader))


if __name__ == "__main__":
    main()
