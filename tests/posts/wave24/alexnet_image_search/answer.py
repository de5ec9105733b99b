import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torchvision import transforms
from torchvision.models import alexnet
from torchvision.models.feature_extraction import create_feature_extractor

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

preprocess = transforms.Compose([
    transforms.Resize(256),
    transforms.CenterCrop(224),
    transforms.ToTensor(),
    transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])


def make_gallery(n, seed=0):
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(n):
        h, w = rng.integers(240, 320, size=2)
        pixels = rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)
        images.append(Image.fromarray(pixels))
    return images


def build_extractor():
    model = alexnet(weights=None)
    model.eval()
    extractor = create_feature_extractor(model, return_nodes={"classifier.4": "descriptor"})
    return extractor.to(device)


@torch.no_grad()
def describe(extractor, image):
    img = preprocess(image).unsqueeze(0).to(device)
    out = extractor(img)
    return out["descriptor"].flatten()


def index_images(extractor, images):
    descriptors = [describe(extractor, image) for image in images]
    return F.normalize(torch.stack(descriptors), dim=1)


def search(extractor, index, query, k=3):
    q = F.normalize(describe(extractor, query), dim=0)
    scores = index @ q
    return torch.topk(scores, k)


def main():
    torch.manual_seed(0)
    gallery = make_gallery(6)
    extractor = build_extractor()
    index = index_images(extractor, gallery)
    print("index:", tuple(index.shape))

    scores, ids = search(extractor, index, gallery[2])
    for score, i in zip(scores.tolist(), ids.tolist()):
        print(f"image {i}: similarity {score:.3f}")


if __name__ == "__main__":
    main()
