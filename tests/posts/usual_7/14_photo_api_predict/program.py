"""Small prediction service for uploaded logos/photos (the Flask routes are in app.py)."""
import base64
import io
import json

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

LABELS = ["red", "green", "blue"]

train_tf = transforms.Compose([
    transforms.Resize((32, 32)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]),
])
serve_tf = transforms.Compose([
    transforms.Resize((32, 32)),
    transforms.ToTensor(),
    transforms.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]),
])


def draw(rng, label, mode="RGB"):
    arr = rng.integers(60, 160, size=(40, 48, 3)).astype(np.uint8)
    arr[..., label] = np.clip(arr[..., label].astype(int) + 70, 0, 255)
    img = Image.fromarray(arr)
    if mode == "RGBA":
        img.putalpha(Image.fromarray(rng.integers(100, 255, size=(40, 48)).astype(np.uint8)))
    return img


class PhotoSet(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, n)
        self.images = [draw(rng, int(k)) for k in self.labels]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return train_tf(self.images[i]), int(self.labels[i])


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, stride=2), nn.ReLU(),
        nn.Conv2d(12, 24, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(24, len(LABELS)),
    )


def fit(path):
    torch.manual_seed(0)
    model = build_model()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    loader = DataLoader(PhotoSet(240, 0), batch_size=24, shuffle=True)
    for epoch in range(4):
        for x, y in loader:
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", round(loss.item(), 4))
    torch.save(model.state_dict(), path)


class Predictor:
    def __init__(self, path):
        self.model = build_model()
        self.model.load_state_dict(torch.load(path, map_location="cpu"))
        self.model.eval()

    def decode(self, payload):
        raw = base64.b64decode(json.loads(payload)["image"])
        img = Image.open(io.BytesIO(raw))
        return serve_tf(img).unsqueeze(0)

    @torch.inference_mode()
    def predict(self, payload):
        probs = self.model(self.decode(payload)).softmax(dim=1)[0]
        k = int(probs.argmax())
        return {"label": LABELS[k], "score": round(float(probs[k]), 3)}


def request_body(img, fmt):
    buf = io.BytesIO()
    img.save(buf, format=fmt)
    return json.dumps({"image": base64.b64encode(buf.getvalue()).decode()})


if __name__ == "__main__":
    fit("photo_model.pt")
    service = Predictor("photo_model.pt")
    rng = np.random.default_rng(8)
    print(service.predict(request_body(draw(rng, 0), "JPEG")))
    print(service.predict(request_body(draw(rng, 2), "PNG")))
    print(service.predict(request_body(draw(rng, 1, mode="RGBA"), "PNG")))
