import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import default_collate

parser = argparse.ArgumentParser()
parser.add_argument('--cases', type=int, default=9)
parser.add_argument('--batch-size', type=int, default=2)
args = parser.parse_args()


class CTDataset(Dataset):
    def __init__(self, n_cases, seed=7):
        rng = np.random.default_rng(seed)
        self.shapes = [(40, 40, int(d)) for d in rng.permutation(np.arange(12, 12 + 2 * n_cases, 2))]
        self.rng = rng

    def __len__(self):
        return len(self.shapes)

    def __getitem__(self, i):
        shape = self.shapes[i]
        volume = np.clip(self.rng.normal(40, 60, shape), -160, 240)
        volume = ((volume + 160) / 400).astype(np.float32)
        mask = (volume > 0.5).astype(np.int64)
        return {'image': torch.from_numpy(volume)[None], 'label': torch.from_numpy(mask), 'case': 'ct_%03d' % i}


def pad_list_data_collate(batch):
    for key in ('image', 'label'):
        biggest = np.max([b[key].shape[-3:] for b in batch], axis=0)
        for b in batch:
            pad = []
            for want, have in zip(biggest[::-1], b[key].shape[::-1]):
                pad += [0, int(want) - have]
            b[key] = F.pad(b[key], pad)
    return default_collate(batch)


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv3d(cin, cout, 3, padding=1), nn.InstanceNorm3d(cout), nn.LeakyReLU(0.01))


net = nn.Sequential(conv_block(1, 8), conv_block(8, 8), nn.Conv3d(8, 2, 1))
loader = DataLoader(CTDataset(args.cases), batch_size=args.batch_size, num_workers=0, collate_fn=pad_list_data_collate)
opt = torch.optim.Adam(net.parameters(), 1e-3)

for epoch in range(2):
    net.train()
    losses = []
    for batch in loader:
        logits = net(batch['image'])
        loss = F.cross_entropy(logits, batch['label'])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f'epoch {epoch}: {np.mean(losses):.4f} ({len(losses)} batches)')
