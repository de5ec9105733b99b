import argparse
import os
import pickle
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def get_args():
    parser = argparse.ArgumentParser("online action detection")
    parser.add_argument("--data_dir", default=os.path.join(tempfile.gettempdir(), "thumos_kinetics"))
    parser.add_argument("--enc_layers", default=8, type=int)
    parser.add_argument("--dim_feature", default=3072, type=int)
    parser.add_argument("--hidden_dim", default=64, type=int)
    parser.add_argument("--numclass", default=22, type=int)
    parser.add_argument("--batch_size", default=8, type=int)
    parser.add_argument("--lr", default=1e-4, type=float)
    parser.add_argument("--epochs", default=1, type=int)
    return parser.parse_args()


def extract_features(folder, numclass):
    """RGB and flow features of ResNet-50 pretrained on Kinetics, one vector per chunk."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(2)
    rgb, flow, anno = {}, {}, {}
    for v in range(3):
        name = "video_validation_%07d" % (v + 51)
        length = int(rng.integers(40, 60))
        rgb[name] = rng.random((length, 2048), dtype=np.float32)
        flow[name] = rng.random((length, 2048), dtype=np.float32)
        anno[name] = np.eye(numclass, dtype=np.float32)[rng.integers(0, numclass, length)]
    for part, content in (("rgb", rgb), ("flow", flow), ("anno", anno)):
        with open(os.path.join(folder, part + ".pickle"), "wb") as f:
            pickle.dump(content, f)


class THUMOS(Dataset):
    def __init__(self, args):
        parts = {}
        for part in ("rgb", "flow", "anno"):
            with open(os.path.join(args.data_dir, part + ".pickle"), "rb") as f:
                parts[part] = pickle.load(f)
        self.rgb, self.flow, self.anno = parts["rgb"], parts["flow"], parts["anno"]
        self.length = args.enc_layers
        self.index = [(name, end) for name in self.anno
                      for end in range(self.length, len(self.anno[name]))]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        name, end = self.index[i]
        sl = slice(end - self.length, end)
        camera = torch.from_numpy(self.rgb[name][sl])
        motion = torch.from_numpy(self.flow[name][sl])
        return camera, motion, torch.from_numpy(self.anno[name][end])


class ActionTransformer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.linear_encoding = nn.Linear(args.dim_feature, args.hidden_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, args.hidden_dim))
        self.position = nn.Parameter(0.02 * torch.randn(1, args.enc_layers + 1, args.hidden_dim))
        layer = nn.TransformerEncoderLayer(args.hidden_dim, 4, 2 * args.hidden_dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(args.hidden_dim, args.numclass)

    def forward(self, camera, motion):
        x = torch.cat((camera, motion), 2)
        x = self.linear_encoding(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.head(self.encoder(x + self.position)[:, 0])


def main(args):
    torch.manual_seed(20)
    extract_features(args.data_dir, args.numclass)
    loader = DataLoader(THUMOS(args), batch_size=args.batch_size, shuffle=True)
    model = ActionTransformer(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for camera, motion, target in loader:
            logits = model(camera, motion)
            loss = -(target * torch.log_softmax(logits, dim=1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print("epoch %d train loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    main(get_args())
