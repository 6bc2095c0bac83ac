"""Where things are, and the options of the command line."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
SHEAF = os.path.join(BUILD, "sheaf")
BENCH = os.path.join(ROOT, "bench")
PROGRAMS = os.path.join(BENCH, "programs")

TORCH, JAX, LLAMA, GGUF, TOKENIZERS = "2.10.0", "0.10.2", "0.3.36", "0.19.0", "0.23.3"
OPTIONS = {
    "--modes": "eager",
    "--torch": TORCH,
    "--peers": "torch,jax,llama",
    "--rounds": "3",
    "--budget": "1000",
    "--starts": "yes",
}
GIVEN = {}  # those of the command line


def rounds():
    return range(int(OPTIONS["--rounds"]))


def program(name):
    return os.path.join(PROGRAMS, name + ".shf")
