import os
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

characters = '-0123456789'
width, height = 96, 24
n_classes, n_input_length = len(characters), 24

rng = np.random.default_rng(3)
glyphs = {c: (rng.random((12, 10)) > 0.5).astype(np.float32) for c in characters[1:]}


def write_captchas(folder, n=240):
    """one file per picture, the text of the picture is in the file's name"""
    rnd = random.Random(5)
    for i in range(n):
        text = ''.join(rnd.choice(characters[1:]) for _ in range(rnd.choice([4, 4, 4, 5])))
        img = np.zeros((3, height, width), dtype=np.float32)
        step = width // len(text)
        for j, c in enumerate(text):
            top = rnd.randrange(2, 10)
            left = j * step + rnd.randrange(1, step - 10)
            img[:, top:top + 12, left:left + 10] = glyphs[c]
        img += 0.1 * rng.standard_normal(img.shape).astype(np.float32)
        np.save(os.path.join(folder, '%s_%04d.npy' % (text, i)), img)


class CaptchaFolder(Dataset):
    def __init__(self, folder, characters, input_length):
        self.folder = folder
        self.names = sorted(os.listdir(folder))
        self.characters = characters
        self.input_length = input_length

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        text = name.split('_')[0]
        image = torch.from_numpy(np.load(os.path.join(self.folder, name)))
        target = torch.tensor([self.characters.find(x) for x in text], dtype=torch.long)
        input_length = torch.full(size=(1,), fill_value=self.input_length, dtype=torch.long)
        target_length = torch.full(size=(1,), fill_value=len(text), dtype=torch.long)
        return image, target, input_length, target_length


def collate(batch):
    data, target, input_length, target_length = zip(*batch)
    target = nn.utils.rnn.pad_sequence(target, batch_first=True)
    return torch.stack(data), target, torch.stack(input_length), torch.stack(target_length)


class Model(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.lstm = nn.LSTM(input_size=32 * 6, hidden_size=64, bidirectional=True)
        self.fc = nn.Linear(128, n_classes)

    def forward(self, x):
        x = self.cnn(x)
        x = x.flatten(1, 2).permute(2, 0, 1)
        x, _ = self.lstm(x)
        return self.fc(x)


def train(model, optimizer, epoch, dataloader):
    model.train()
    loss_mean = 0
    for data, target, input_lengths, target_lengths in dataloader:
        optimizer.zero_grad()
        output_log_softmax = F.log_softmax(model(data), dim=-1)
        loss = F.ctc_loss(output_log_softmax, target, input_lengths.flatten(), target_lengths.flatten())
        loss.backward()
        optimizer.step()
        loss_mean = loss.item() if loss_mean == 0 else 0.1 * loss.item() + 0.9 * loss_mean
    print('Epoch: %d Loss: %.4f' % (epoch, loss_mean))


if __name__ == '__main__':
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        write_captchas(folder)
        train_set = CaptchaFolder(folder, characters, n_input_length)
        train_loader = DataLoader(train_set, batch_size=24, shuffle=True, collate_fn=collate)
        model = Model(n_classes)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for epoch in range(1, 4):
            train(model, optimizer, epoch, train_loader)
