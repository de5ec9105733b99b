"""Small data sets with the layout of well-known ones, and nothing of their content."""

import io
import pickle
import random
import struct
import tarfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
WORDS = [a + b for a in ("ba", "do", "ki", "lu", "me", "so") for b in ("n", "ra", "ti")]
CORA = {"nodes": 1800, "words": 60, "topics": 7, "cites": 4000}


def images(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape, dtype=np.uint8)


def idx(path: Path, values: np.ndarray) -> None:
    """The format of MNIST: rank, sizes, bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = struct.pack(f">4B{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    path.write_bytes(head + values.tobytes())


def mnist(folder: Path, train: int = 300, test: int = 130, name: str = "MNIST") -> None:
    rng = np.random.default_rng(0)
    for part, count in (("train", train), ("t10k", test)):
        raw = folder / name / "raw"
        labels = np.arange(count, dtype=np.uint8) % 10
        idx(raw / f"{part}-images-idx3-ubyte", images(rng, count, 28, 28))
        idx(raw / f"{part}-labels-idx1-ubyte", labels)


def cifar10(folder: Path, each: int = 8) -> None:
    rng = np.random.default_rng(0)
    target = folder / "cifar-10-batches-py"
    target.mkdir(parents=True, exist_ok=True)
    for part in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        batch = {
            "data": images(rng, each, 3 * 32 * 32),
            "labels": rng.integers(0, 10, each).tolist(),
        }
        (target / part).write_bytes(pickle.dumps(batch))


def png(array: np.ndarray) -> bytes:
    """A PNG file of these bytes, by the stand-in for Pillow."""
    space: dict[str, object] = {}
    source = (HERE / "stubs" / "PIL" / "Image.py").read_text(encoding="utf-8")
    exec(compile(source, "Image.py", "exec"), space)
    encoded = space["encoded"]
    assert callable(encoded)
    data: bytes = encoded(array)
    return data


def image_files(folder: Path, count: int, height: int, width: int) -> None:
    """Pictures of which no two need have the same size."""
    rng = np.random.default_rng(count)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        more = 6 * number
        picture = images(rng, height + more, width + more, 3)
        (folder / f"{number:04d}.jpg").write_bytes(png(picture))


def image_folder(
    folder: Path, classes: int, each: int, height: int = 280, width: int = 300
) -> None:
    for number in range(classes):
        image_files(folder / f"n{number:08d}", each, height, width)


def sentence(rng: random.Random, low: int = 4, high: int = 12) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))


def wikitext(folder: Path, lines: int = 500) -> None:
    """Text in paragraphs under titles, three files."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", lines), ("valid", lines // 5), ("test", lines // 5)):
        rng = random.Random(part)
        text = [f" = {sentence(rng, 1, 3)} = \n \n"]
        text += [f" {sentence(rng, 8, 20)} . \n" for _ in range(count)]
        (folder / f"{part}.txt").write_text("".join(text), encoding="utf-8")


def multi30k(folder: Path, pairs: int = 60) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", pairs), ("valid", pairs // 3)):
        rng = random.Random(part)
        for language in ("de", "en"):
            text = "\n".join(f"{sentence(rng)} ." for _ in range(count)) + "\n"
            (folder / f"{part}.{language}").write_text(text, encoding="utf-8")


def cora(folder: Path) -> None:
    """Papers as bags of words with a topic, and who cites whom; packed and unpacked."""
    rng = np.random.default_rng(0)
    names = rng.permutation(100_000)[: CORA["nodes"]]
    bags = rng.integers(0, 2, (CORA["nodes"], CORA["words"]))
    content = "".join(
        f"{name}\t" + "\t".join(map(str, bag)) + f"\tTopic_{name % CORA['topics']}\n"
        for name, bag in zip(names, bags, strict=True)
    )
    ends = rng.choice(names, (CORA["cites"], 2))
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    cites = "".join(f"{a}\t{b}\n" for a, b in ends)
    (folder / "cora").mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "cora.tgz", "w:gz") as packed:
        for name, text in (("cora.content", content), ("cora.cites", cites)):
            (folder / "cora" / name).write_text(text, encoding="utf-8")
            data = text.encode()
            entry = tarfile.TarInfo(f"cora/{name}")
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))


def sines(path: Path, count: int = 8, length: int = 60) -> None:
    """Waves of float64: an array, not a tensor, in a file of torch."""
    import torch

    rng = np.random.default_rng(2)
    steps = np.arange(length)[None] + rng.integers(-80, 80, (count, 1))
    torch.save(np.sin(steps / 20.0), path)


def characters(folder: Path, length: int = 20_000) -> None:
    """A text as numbers of its characters: two files of uint16 and the vocabulary."""
    rng = random.Random(0)
    text = "\n".join(sentence(rng) for _ in range(length // 20))
    known = sorted(set(text))
    numbers = np.array([known.index(c) for c in text], dtype=np.uint16)
    folder.mkdir(parents=True, exist_ok=True)
    split = len(numbers) * 9 // 10
    numbers[:split].tofile(folder / "train.bin")
    numbers[split:].tofile(folder / "val.bin")
    meta = {
        "vocab_size": len(known),
        "itos": dict(enumerate(known)),
        "stoi": {c: n for n, c in enumerate(known)},
    }
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def text_file(path: Path, lines: int = 200) -> None:
    rng = random.Random(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(sentence(rng) for _ in range(lines)), encoding="utf-8")
