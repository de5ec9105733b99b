import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class ImageTextDataset(Dataset):
    """one row of the metadata per image; the pipeline does the preprocessing"""

    def __init__(self, n=8, height=64, width=64, repeat=1):
        rng = np.random.RandomState(3)
        self.data = [{'image': rng.randint(0, 255, (height + 16, width + 16, 3)).astype(np.uint8),
                      'prompt': 'a photo of object %d' % i} for i in range(n)]
        self.height, self.width, self.repeat = height, width, repeat

    def crop_and_resize(self, image):
        scale = max(self.width / image.width, self.height / image.height)
        image = image.resize((round(image.width * scale), round(image.height * scale)))
        left, top = (image.width - self.width) // 2, (image.height - self.height) // 2
        return image.crop((left, top, left + self.width, top + self.height))

    def __getitem__(self, data_id):
        row = self.data[data_id % len(self.data)].copy()
        row['image'] = self.crop_and_resize(Image.fromarray(row['image']))
        return row

    def __len__(self):
        return len(self.data) * self.repeat


class Denoiser(nn.Module):
    def __init__(self, channels=32, text_dim=64):
        super().__init__()
        self.text = nn.Embedding(512, text_dim)
        self.cond = nn.Linear(text_dim + 1, channels)
        self.inp = nn.Conv2d(3, channels, 3, padding=1)
        self.mid = nn.Sequential(nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.SiLU())
        self.out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x, t, ids):
        cond = self.cond(torch.cat([self.text(ids).mean(0, keepdim=True), t[:, None]], dim=1))
        return self.out(self.mid(self.inp(x) + cond[:, :, None, None]))


class DiffusionTrainingModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.dit = Denoiser()

    def preprocess(self, data):
        image = torch.from_numpy(np.array(data['image'], dtype=np.float32)) / 127.5 - 1
        ids = torch.tensor([sum(map(ord, word)) % 512 for word in data['prompt'].split()])
        return image.permute(2, 0, 1).unsqueeze(0), ids

    def forward(self, data):
        image, ids = self.preprocess(data)
        noise, t = torch.randn_like(image), torch.rand(1)
        noisy = (1 - t) * image + t * noise
        return F.mse_loss(self.dit(noisy, t, ids), noise - image)


def launch_training_task(dataset, model, num_epochs=1, learning_rate=1e-4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    dataloader = DataLoader(dataset, batch_size=1, shuffle=True, collate_fn=lambda x: x[0])
    for epoch_id in range(num_epochs):
        for data in dataloader:
            optimizer.zero_grad()
            loss = model(data)
            loss.backward()
            optimizer.step()
        print('epoch', epoch_id, 'loss', loss.item())


if __name__ == '__main__':
    launch_training_task(ImageTextDataset(), DiffusionTrainingModule(), num_epochs=2)
