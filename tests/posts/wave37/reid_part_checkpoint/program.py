import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class PartModel(nn.Module):
    """Horizontal stripes of the last feature map, one classifier per stripe."""

    def __init__(self, num_stripes=3, local_dim=16, num_classes=12):
        super(PartModel, self).__init__()
        self.base = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        )
        self.num_stripes = num_stripes
        self.local_convs = nn.ModuleList([nn.Sequential(nn.Conv2d(32, local_dim, 1), nn.BatchNorm2d(local_dim))
                                          for _ in range(num_stripes)])
        self.fcs = nn.ModuleList([nn.Linear(local_dim, num_classes) for _ in range(num_stripes)])

    def forward(self, x):
        feat = self.base(x)
        stripes = feat.chunk(self.num_stripes, dim=2)
        locals_, logits = [], []
        for stripe, conv, fc in zip(stripes, self.local_convs, self.fcs):
            local = conv(F.adaptive_avg_pool2d(stripe, 1)).flatten(1)
            locals_.append(local)
            logits.append(fc(F.relu(local)))
        return locals_, logits


def load_state_dict(model, src_state_dict):
    """Copy what fits, so that a checkpoint with other classifiers can be used too."""
    dest_state_dict = model.state_dict()
    for name, param in src_state_dict.items():
        if name not in dest_state_dict:
            continue
        if dest_state_dict[name].shape != param.shape:
            continue
        dest_state_dict[name].copy_(param)


def save_ckpt(model, optimizer, ep, path):
    torch.save({"state_dicts": [model.state_dict(), optimizer.state_dict()], "ep": ep}, path)


def make_people(num_ids, per_id, seed):
    gen = torch.Generator().manual_seed(11)
    colours = torch.rand(num_ids, 3, 3, generator=gen)
    gen = torch.Generator().manual_seed(seed)
    images, ids = [], []
    for pid in range(num_ids):
        for _ in range(per_id):
            clothes = colours[pid].repeat_interleave(16, dim=1).unsqueeze(-1).expand(3, 48, 24)
            light = 0.8 * torch.randn(3, 1, 1, generator=gen)
            images.append(clothes + light + 0.3 * torch.randn(3, 48, 24, generator=gen))
            ids.append(pid)
    return torch.stack(images), torch.tensor(ids)


def extract(model, images):
    model.eval()
    with torch.no_grad():
        locals_, _ = model(images)
    return F.normalize(torch.cat(locals_, 1), dim=1).numpy()


def cmc(model, query, gallery, topk=3):
    (q_im, q_id), (g_im, g_id) = query, gallery
    sim = extract(model, q_im) @ extract(model, g_im).T
    order = np.argsort(-sim, axis=1)[:, :topk]
    match = g_id.numpy()[order] == q_id.numpy()[:, None]
    return [match[:, : k + 1].any(1).mean() for k in range(topk)]


def train(model, optimizer, images, ids, epochs, batch_size=24):
    for ep in range(epochs):
        model.train()
        perm = torch.randperm(len(ids))
        for start in range(0, len(ids), batch_size):
            idx = perm[start:start + batch_size]
            _, logits = model(images[idx])
            loss = sum(F.cross_entropy(l, ids[idx]) for l in logits)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("Ep %d, id loss %.3f" % (ep + 1, loss.item()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exp_dir", default=tempfile.mkdtemp())
    parser.add_argument("--model_weight_file", default="")
    parser.add_argument("--epochs", type=int, default=25)
    args = parser.parse_args()
    ckpt_file = os.path.join(args.exp_dir, "ckpt.pth")

    torch.manual_seed(0)
    images, ids = make_people(12, 16, seed=0)
    query, gallery = make_people(12, 2, seed=1), make_people(12, 4, seed=2)

    model = PartModel()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    train(model, optimizer, images, ids, args.epochs)
    save_ckpt(model, optimizer, args.epochs, ckpt_file)
    print("after training     cmc1 %.3f cmc2 %.3f cmc3 %.3f" % tuple(cmc(model, query, gallery)))

    # test only
    test_model = PartModel()
    weights = torch.load(args.model_weight_file or ckpt_file, map_location="cpu")
    load_state_dict(test_model, weights)
    print("loaded weight file cmc1 %.3f cmc2 %.3f cmc3 %.3f" % tuple(cmc(test_model, query, gallery)))


if __name__ == "__main__":
    main()
