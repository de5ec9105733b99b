"""Batch normalisation whose scale and shift are predicted from a question (VQA)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

VOCAB, LSTM_SIZE, ANSWERS = 80, 48, 10


class CBN(nn.Module):
    def __init__(self, lstm_size, hidden_size, channels, eps=1e-5):
        super().__init__()
        self.channels = channels
        self.eps = eps
        self.betas = nn.Parameter(torch.zeros(1, channels))
        self.gammas = nn.Parameter(torch.ones(1, channels))
        self.fc_beta = nn.Sequential(nn.Linear(lstm_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, channels))
        self.fc_gamma = nn.Sequential(nn.Linear(lstm_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, channels))
        for m in list(self.fc_beta) + list(self.fc_gamma):
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.constant_(m.bias, 0.1)

    def create_cbn_input(self, question):
        return self.fc_beta(question), self.fc_gamma(question)

    def forward(self, feature, question):
        batch_size, channels, height, width = feature.shape
        delta_beta, delta_gamma = self.create_cbn_input(question)
        betas = self.betas + delta_beta
        gammas = self.gammas + delta_gamma

        batch_mean = torch.mean(feature, dim=(0, 2, 3), keepdim=True)
        batch_var = torch.var(feature, dim=(0, 2, 3), unbiased=False, keepdim=True)

        betas = betas.view(batch_size, channels, 1, 1).expand(-1, -1, height, width)
        gammas = gammas.view(batch_size, channels, 1, 1).expand(-1, -1, height, width)

        feature_normalized = (feature - batch_mean) / torch.sqrt(batch_var + self.eps)
        out = torch.mul(feature_normalized, gammas) + betas
        return out


class CondBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.cbn1 = CBN(LSTM_SIZE, 32, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.cbn2 = CBN(LSTM_SIZE, 32, cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride=stride, bias=False)

    def forward(self, x, q):
        y = F.relu(self.cbn1(self.conv1(x), q))
        y = self.cbn2(self.conv2(y), q)
        return F.relu(y + self.skip(x))


class ModulatedVQA(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 32)
        self.lstm = nn.LSTM(32, LSTM_SIZE, batch_first=True)
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.block1 = CondBlock(16, 24, 2)
        self.block2 = CondBlock(24, 32, 2)
        self.classifier = nn.Linear(32 + LSTM_SIZE, ANSWERS)

    def forward(self, image, question):
        _, (h, _) = self.lstm(self.embed(question))
        q = h[-1]
        x = F.relu(self.stem(image))
        x = self.block2(self.block1(x, q), q)
        return self.classifier(torch.cat([x.mean(dim=(2, 3)), q], dim=1))


def make_vqa(n):
    answer = torch.randint(0, ANSWERS, (n,))
    question = torch.randint(ANSWERS, VOCAB, (n, 9))
    question[:, 4] = answer
    image = torch.rand(n, 3, 32, 32) * torch.tensor([1.0, 0.4, 3.0]).view(1, 3, 1, 1)
    return TensorDataset(image, question, answer)


def main():
    torch.manual_seed(8)
    loader = DataLoader(make_vqa(256), batch_size=32, shuffle=True)
    net = ModulatedVQA()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(4):
        total, right = 0.0, 0
        for image, question, answer in loader:
            optimizer.zero_grad()
            scores = net(image, question)
            loss = F.cross_entropy(scores, answer)
            loss.backward()
            optimizer.step()
            total += loss.item() * answer.size(0)
            right += (scores.argmax(1) == answer).sum().item()
        print("epoch %d loss %.3f acc %.3f" % (epoch, total / 256, right / 256))


if __name__ == "__main__":
    main()
