import os
import random
import tempfile

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

num_classes = 19
ignore_label = 255
id_to_train = {7: 0, 8: 1, 11: 2, 12: 3, 13: 4, 17: 5, 19: 6, 20: 7, 21: 8, 22: 9, 23: 10,
               24: 11, 25: 12, 26: 13, 27: 14, 28: 15, 31: 16, 32: 17, 33: 18}


class StreetScenes(Dataset):
    def __init__(self, root, split, transform=None, target_transform=None):
        self.img_dir = os.path.join(root, "leftImg8bit", split)
        self.gt_dir = os.path.join(root, "gtFine", split)
        self.names = sorted(os.listdir(self.img_dir))
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        img = Image.open(os.path.join(self.img_dir, name)).convert("RGB")
        ids = np.array(Image.open(os.path.join(self.gt_dir, name)))
        mask = np.full(ids.shape, ignore_label, dtype=np.uint8)
        for k, v in id_to_train.items():
            mask[ids == k] = v
        mask = Image.fromarray(mask)
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            mask = self.target_transform(mask)
        return img, mask


class MaskToTensor(object):
    def __call__(self, mask):
        return torch.from_numpy(np.array(mask, dtype=np.int32)).long()


def make_data(root, split, n=6, size=(128, 64)):
    rng = np.random.RandomState(1)
    for sub in ("leftImg8bit", "gtFine"):
        os.makedirs(os.path.join(root, sub, split))
    for i in range(n):
        rgb = rng.randint(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        gt = rng.choice(list(id_to_train) + [0, 1], (size[1], size[0])).astype(np.uint8)
        Image.fromarray(rgb).save(os.path.join(root, "leftImg8bit", split, "city_%02d.png" % i))
        Image.fromarray(gt).save(os.path.join(root, "gtFine", split, "city_%02d.png" % i))


def fast_hist(pred, gt, n):
    k = (gt >= 0) & (gt < n)
    return np.bincount(n * gt[k].astype(int) + pred[k], minlength=n ** 2).reshape(n, n)


def main():
    random.seed(0)
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    make_data(root, "val")

    eval_transform = transforms.Compose([
        transforms.Resize((64, 128)),
        transforms.ToTensor(),
    ])
    val_set = StreetScenes(root, "val", transform=eval_transform, target_transform=MaskToTensor())
    val_loader = DataLoader(val_set, batch_size=2, num_workers=0, shuffle=False)

    net = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=num_classes).eval()
    criterion = nn.CrossEntropyLoss(ignore_index=ignore_label)
    hist = np.zeros((num_classes, num_classes))
    total = 0.0
    with torch.no_grad():
        for vi, data in enumerate(val_loader):
            inputs, labels = data
            outputs = net(inputs)["out"]
            total += criterion(outputs, labels).item()
            hist += fast_hist(outputs.argmax(1).numpy().ravel(), labels.numpy().ravel(), num_classes)
            print("batch %d / %d" % (vi + 1, len(val_loader)))
    iu = np.diag(hist) / np.maximum(hist.sum(0) + hist.sum(1) - np.diag(hist), 1)
    print("val loss %.4f  mean iu %.4f" % (total / len(val_loader), iu.mean()))


if __name__ == "__main__":
    main()
