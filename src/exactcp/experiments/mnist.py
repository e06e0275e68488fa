"""MNIST from a file, from the four idx files, or from OpenML."""

from __future__ import annotations

import gzip
import socket
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactcp._replacing import replacing

MNIST_NAMES = ("X_train", "y_train", "X_test", "y_test")
IDX_FILES = {
    "X_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "X_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}
FORMATS = (
    "an npz file with X_train, y_train, X_test and y_test, or a folder with the four idx files "
    f"({', '.join(IDX_FILES.values())}; .gz is fine)"
)
MNIST_PATIENCE = 30.0  # seconds without an answer from OpenML


class Images(NamedTuple):
    """Images as rows of pixels, and their digits."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def load_images(path: Path) -> Images:
    """Read an npz file, or idx files from the folder that holds them.

    Parameters
    ----------
    path : Path
        The npz file, the folder, or one of the idx files.

    Returns
    -------
    Images
    """
    if not path.exists():
        msg = f"--data {path} does not exist: give {FORMATS}."
        raise ValueError(msg)
    if path.is_dir():
        arrays = _read_folder(path)
    elif any(path.name.startswith(name) for name in IDX_FILES.values()):
        arrays = _read_folder(path.parent)
    else:
        arrays = _read_npz(path)
    return _checked(arrays, path)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in MNIST_NAMES if name not in file]
            if not missing:
                return {name: file[name] for name in MNIST_NAMES}
            held = ", ".join(file) or "nothing"
    except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        msg = f"--data {path} cannot be read ({' '.join(str(error).split())}): give {FORMATS}."
        raise ValueError(msg) from None
    msg = f"--data {path} has no {', '.join(missing)}, but {held}: give {FORMATS}."
    raise ValueError(msg)


def _read_folder(folder: Path) -> dict[str, np.ndarray]:
    arrays = {}
    for name, file in IDX_FILES.items():
        found = next((folder / f for f in (file, f"{file}.gz") if (folder / f).exists()), None)
        if found is None:
            msg = f"--data: the folder {folder} has no {file} and no {file}.gz: give {FORMATS}."
            raise ValueError(msg)
        arrays[name] = _read_idx(found)
    return arrays


def _read_idx(path: Path) -> np.ndarray:
    """Read unsigned bytes: two zeros, the type 8, the number of dimensions, their sizes (big-endian), the values."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        msg = f"--data: {path} cannot be unpacked ({error}): download it again."
        raise ValueError(msg) from None
    if len(content) >= 4 and content[:3] == b"\0\0\x08":
        start = 4 + 4 * content[3]
        shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
        values = np.frombuffer(content, dtype=np.uint8, offset=min(start, len(content)))
        if len(shape) == content[3] and values.size == int(np.prod(shape)):
            return values.reshape(shape)
    msg = f"--data: {path} is not a whole idx file of bytes: download it again."
    raise ValueError(msg)


def _checked(arrays: dict[str, np.ndarray], path: Path) -> Images:
    X_train, y_train, X_test, y_test = (arrays[name] for name in MNIST_NAMES)
    sizes = (len(X_train), len(y_train), len(X_test), len(y_test)) if all(a.ndim for a in arrays.values()) else ()
    if not sizes or sizes[0] != sizes[1] or sizes[2] != sizes[3] or 0 in sizes or y_train.ndim != 1 or y_test.ndim != 1:
        shapes = ", ".join(f"{name} {arrays[name].shape}" for name in MNIST_NAMES)
        msg = f"--data {path} has the shapes {shapes}: expected one label for each row of X: give {FORMATS}."
        raise ValueError(msg)
    images = Images(X_train.reshape(sizes[0], -1), y_train, X_test.reshape(sizes[2], -1), y_test)
    if images.X_train.shape[1] != images.X_test.shape[1] or not all(np.issubdtype(a.dtype, np.number) for a in images):
        msg = f"--data {path} has {images.X_train.shape[1]} training and {images.X_test.shape[1]} test pixels of types "
        msg += f"{images.X_train.dtype} and {images.X_test.dtype}: expected numbers, as many in both."
        raise ValueError(msg)
    return images


def fetch_images() -> Images:
    """Fetch MNIST from OpenML, through scikit-learn's cache."""
    from sklearn.datasets import fetch_openml

    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(MNIST_PATIENCE)
    try:
        X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=1)
    except Exception as error:  # noqa: BLE001  (whatever network and cache come up with)
        reason = " ".join(str(error).split()) or type(error).__name__
        msg = f"MNIST is not at hand, and OpenML did not give it ({reason}): use --data with {FORMATS}."
        raise ValueError(msg) from None
    finally:
        socket.setdefaulttimeout(patience)
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    return Images(X[:60_000], y[:60_000], X[60_000:], y[60_000:])


def locate(data: Path | None, output: Path) -> Path:
    """Return where MNIST is: the file given, what an earlier run fetched, or what OpenML gives now.

    Parameters
    ----------
    data : Path or None
    output : Path
        A folder, which keeps what is fetched.

    Returns
    -------
    Path
    """
    if data is not None:
        return data
    kept = output / "mnist.npz"
    if not kept.exists():
        images = fetch_images()
        with replacing(kept) as unfinished:
            np.savez_compressed(unfinished, **images._asdict())
    return kept


def fingerprint(images: Images) -> str:
    """Return a number that other images would not have."""
    crc = 0
    for array in images:
        crc = zlib.crc32(array.tobytes(), crc)
    return f"{crc:08x}"
