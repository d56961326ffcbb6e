"""The programs of `tests.benchmarks --data` with torch's DataLoader, Pillow and NumPy."""

import math

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tests.benchmarks import data
from tests.benchmarks.worker import serve

where = data.folder()
mean = torch.tensor(data.MEAN).reshape(3, 1, 1)
std = torch.tensor(data.STD).reshape(3, 1, 1)


class Files(Dataset):
    """Images of files, changed by a function of a Pillow image."""

    def __init__(self, change):
        self.names = data.names()
        self.change = change

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        with Image.open(where / self.names[i]) as picture:
            return self.change(picture.convert("RGB")), i % 10


def normalized(picture, mirror):
    """A float tensor (3, height, width) of a Pillow image, as torchvision's ToTensor and Normalize make it."""
    x = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    x = x.flip(2) if mirror else x
    return x.float().sub_(mean).div_(std)


def part_of_resized(picture):
    picture = picture.resize((data.RESIZED, data.RESIZED), Image.Resampling.BILINEAR)
    left, top, mirror = torch.randint(data.RESIZED - data.CROP + 1, (3,)).tolist()
    return normalized(picture.crop((left, top, left + data.CROP, top + data.CROP)), mirror % 2)


def bytes_of_resized(picture):
    picture = picture.resize((data.RESIZED, data.RESIZED), Image.Resampling.BILINEAR)
    left, top, mirror = torch.randint(data.RESIZED - data.CROP + 1, (3,)).tolist()
    x = torch.from_numpy(np.array(picture.crop((left, top, left + data.CROP, top + data.CROP)))).permute(2, 0, 1)
    return x.flip(2) if mirror % 2 else x


def random_part(picture):
    """A part of a random area and ratio, resized, as torchvision's RandomResizedCrop takes it."""
    width, height = picture.size
    area, ratio, x, y, mirror = torch.rand(5).tolist()
    area = (0.08 + 0.92 * area) * width * height
    ratio = math.exp((2 * ratio - 1) * math.log(4 / 3))
    w, h = min(width, round(math.sqrt(area * ratio))), min(height, round(math.sqrt(area / ratio)))
    left, top = int(x * (width - w + 1)), int(y * (height - h + 1))
    picture = picture.crop((left, top, left + w, top + h))
    return normalized(picture.resize((data.CROP, data.CROP), Image.Resampling.BILINEAR), mirror < 0.5)


def part(picture):
    return torch.from_numpy(np.ascontiguousarray(data.augmented(np.array(picture), np.random).transpose(2, 0, 1)))


def whole(picture):
    """The numbers that nnabla's program gets: of float64."""
    return torch.from_numpy(np.array(picture).transpose(2, 0, 1) / 255)


class Rows(Dataset):
    """Images of an array, changed by a function of an array."""

    def __init__(self, pixels, labels, change):
        self.pixels, self.labels, self.change = pixels, labels, change

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, i):
        return self.change(self.pixels[i]), int(self.labels[i])


def normalized_digit(x):
    return torch.from_numpy(x[None] / np.float32(255)).sub_(0.13).div_(0.31)


def cache():
    """The images in one file, which is mapped into memory."""
    name = where / "torch.npy"
    pictures = [np.array(Image.open(where / one)) for one in data.names()]
    np.save(name, np.stack(pictures).transpose(0, 3, 1, 2).copy())
    change = lambda x: torch.from_numpy(x / np.float32(255))  # noqa: E731
    return Rows(np.load(name, mmap_mode="r"), [i % 10 for i in range(data.COUNT)], change)


def epoch(dataset, workers=0):
    options = {"num_workers": workers, "persistent_workers": workers > 0}
    loader = DataLoader(dataset, data.BATCH, shuffle=True, **options)

    def run():
        for _ in loader:
            pass

    return run


def digits():
    pixels, labels = data.digits()
    return TensorDataset(torch.from_numpy(pixels[:, None] / np.float32(256)), torch.from_numpy(labels.astype(np.int64)))


def table(name):
    numbers = torch.from_numpy(np.loadtxt(where / name, np.float32, delimiter=",", skiprows=int(name == "table.csv")))
    return TensorDataset(numbers[:, : data.SMALL**2], numbers[:, -1])


WORKERS = data.WORKERS

if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(
        {
            "record iterator": lambda: epoch(Files(part_of_resized), WORKERS),
            "record iterator, bytes": lambda: epoch(Files(bytes_of_resized), WORKERS),
            "image iterator": lambda: epoch(Files(part_of_resized)),
            "array iterator": lambda: epoch(digits()),
            "table iterator": lambda: lambda: epoch(table("numbers.csv"))(),
            "digits iterator": lambda: lambda: epoch(digits())(),
            "loader of records": lambda: epoch(Files(random_part)),
            f"loader of records, {WORKERS} workers": lambda: epoch(Files(random_part), WORKERS),
            "loader of arrays": lambda: epoch(Rows(*data.digits(), normalized_digit)),
            f"loader of arrays, {WORKERS} workers": lambda: epoch(Rows(*data.digits(), normalized_digit), WORKERS),
            "serial, files": lambda: epoch(Files(part)),
            "serial, arrays": lambda: epoch(digits()),
            f"{WORKERS} threads, files": lambda: epoch(Files(part), WORKERS),
            f"{WORKERS} processes, files": lambda: epoch(Files(part), WORKERS),
            "function of files": lambda: epoch(Files(part), 1),
            "function of arrays": lambda: epoch(Rows(*data.digits(), lambda x: x[None] / 255.0), 1),
            "table of files": lambda: epoch(Files(whole), 1),
            "table of numbers": lambda: epoch(table("table.csv")),
            "cache of images": lambda: epoch(cache(), 1),
        },
        clock=data.CLOCK,
        patience=0,
    )
