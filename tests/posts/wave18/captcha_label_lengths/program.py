import string

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

CHARS = string.ascii_lowercase + string.digits


def draw(text, rng, height=32, width=100):
    img = np.ones((height, width, 3), dtype=np.float32)
    for pos, ch in enumerate(text):
        value = CHARS.index(ch)
        col = 4 + pos * 13
        for bit in range(6):
            if value >> bit & 1:
                img[4 + bit * 4:7 + bit * 4, col:col + 9] = 0.1
    return img + rng.normal(0, 0.05, img.shape).astype(np.float32)


class ClassificationDataset:
    def __init__(self, texts, seed=0):
        rng = np.random.default_rng(seed)
        self.images = [draw(t, rng) for t in texts]
        self.targets = [[CHARS.index(c) + 1 for c in t] for t in texts]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, item):
        image = np.transpose(self.images[item], (2, 0, 1))
        targets = self.targets[item]
        return {
            'images': torch.tensor(image, dtype=torch.float),
            'targets': torch.tensor(targets, dtype=torch.long),
        }


class CaptchaModel(nn.Module):
    def __init__(self, num_chars):
        super().__init__()
        self.conv_1 = nn.Conv2d(3, 32, kernel_size=3, padding=1)
        self.pool_1 = nn.MaxPool2d(2)
        self.conv_2 = nn.Conv2d(32, 32, kernel_size=3, padding=1)
        self.pool_2 = nn.MaxPool2d(2)
        self.linear_1 = nn.Linear(32 * 8, 64)
        self.gru = nn.GRU(64, 32, bidirectional=True, batch_first=True)
        self.output = nn.Linear(64, num_chars + 1)

    def forward(self, images, targets=None):
        bs = images.size(0)
        x = self.pool_1(F.relu(self.conv_1(images)))
        x = self.pool_2(F.relu(self.conv_2(x)))
        x = x.permute(0, 3, 1, 2)
        x = x.reshape(bs, x.size(1), -1)
        x = F.relu(self.linear_1(x))
        x, _ = self.gru(x)
        x = self.output(x).permute(1, 0, 2)
        if targets is not None:
            log_probs = F.log_softmax(x, 2)
            input_lengths = torch.full((bs,), log_probs.size(0), dtype=torch.long)
            target_lengths = (targets > 0).sum(dim=1)
            loss = nn.CTCLoss(blank=0)(log_probs, targets, input_lengths, target_lengths)
            return x, loss
        return x, None


def random_texts(n, seed):
    rng = np.random.default_rng(seed)
    return [''.join(rng.choice(list(CHARS), size=rng.integers(5, 8))) for _ in range(n)]


def run_training(epochs=2):
    torch.manual_seed(0)
    train_dataset = ClassificationDataset(random_texts(96, 1))
    train_loader = DataLoader(train_dataset, batch_size=8, shuffle=True)
    model = CaptchaModel(num_chars=len(CHARS))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    for epoch in range(epochs):
        model.train()
        fin_loss = 0
        for data in train_loader:
            optimizer.zero_grad()
            _, loss = model(**data)
            loss.backward()
            optimizer.step()
            fin_loss += loss.item()
        print(f'Epoch: {epoch}, loss: {fin_loss / len(train_loader):.4f}')


if __name__ == '__main__':
    run_training()
