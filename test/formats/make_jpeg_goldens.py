"""Adds to goldens/: JPEG pictures of every kind, each beside the JSON of what it must load as. Needs numpy and Pillow
(13.0.0, libjpeg-turbo 3). Run from this folder: python make_jpeg_goldens.py
"""

import os

import numpy as np
from make_goldens import OUT, expect
from PIL import Image, ImageOps


def save(name, picture, **options):
    path = os.path.join(OUT, name + ".jpg")
    picture.save(path, **options)
    seen = ImageOps.exif_transpose(Image.open(path))
    if seen.mode == "CMYK":
        seen = seen.convert("RGB")
    expect(name + ".jpg", np.asarray(seen))


def main():
    y, x = np.mgrid[0:13, 0:19]
    rng = np.random.default_rng(35)
    noise = rng.integers(0, 60, (13, 19))
    rgb = np.stack([9 * x + noise, 14 * y + noise, 255 - 6 * (x + y)], -1).clip(0, 255).astype(np.uint8)
    colour, grey = Image.fromarray(rgb), Image.fromarray(rgb[..., 1])
    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        save("baseline-" + subsampling.replace(":", ""), colour, quality=92, subsampling=subsampling)
    save("progressive", colour, quality=80, progressive=True, optimize=True)
    save("restarts", colour, quality=70, restart_marker_blocks=1)
    save("plain-rgb", colour, quality=90, keep_rgb=True)
    save("grey", grey, quality=85)
    save("grey-progressive", grey, quality=60, progressive=True)
    save("one", colour.crop((0, 0, 1, 1)), quality=95)
    save("cmyk", colour.convert("CMYK"), quality=90)
    small = colour.crop((0, 0, 9, 5))
    for turn in range(1, 9):
        exif = Image.Exif()
        exif[0x010F] = "a camera"
        exif[0x0112] = turn
        exif.endian = "<" if turn % 2 else ">"
        save(f"turned-{turn}", small, quality=95, exif=exif)


main()
