"""Programs of others: virtual environments made on first use, and the commands that run the peers' side of a row."""

import dataclasses
import json
import os
import subprocess
import sys

from settings import BENCH, BUILD, GGUF, JAX, LLAMA, OPTIONS, ROOT, TOKENIZERS, TORCH


def python_with(module, *packages, folder=".venv"):
    """Python of a virtual environment, in which `packages` are installed if `module` is missing."""
    python = os.path.join(ROOT, folder, "bin", "python")
    if (
        subprocess.run([python, "-c", "import " + module], capture_output=True).returncode
        if os.path.exists(python)
        else True
    ):
        print(f"installing {' '.join(packages)} into {folder} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", os.path.join(ROOT, folder)], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--progress-bar", "off", *packages], check=True, stdout=sys.stderr
        )
    return python


def torch_python():
    version = OPTIONS["--torch"]
    if version == "here":
        return sys.executable
    return python_with(
        "torch", f"torch=={version}", "numpy", folder=".venv" if version == TORCH else f"build/torch-{version}"
    )


def tokenizers_python():
    return python_with("tokenizers", f"tokenizers=={TOKENIZERS}")


def llama_python():
    """Built from its sources for this processor, which takes some minutes on one core."""
    os.environ.setdefault("CMAKE_ARGS", "-DGGML_NATIVE=ON")
    return python_with(
        "llama_cpp, gguf",
        "--no-binary",
        "llama-cpp-python",
        f"llama-cpp-python=={LLAMA}",
        f"gguf=={GGUF}",
        folder="build/llama",
    )


@dataclasses.dataclass
class Peer:
    """`command` prints JSON lines with "work", "mode", "ms", "peak_rss_mb" (those of other works are left out). Each of
    `starts` announces its first ten steps."""

    name: str
    work: str
    command: list
    starts: dict = dataclasses.field(default_factory=dict)

    def label(self, mode):
        return self.name if mode == self.name else f"{self.name} {mode}"

    def figures(self, out):
        """By mode, the output of the command for this work: "ms" and more, or "error"."""
        lines = [json.loads(line) for line in out.splitlines()]
        return [(self.label(found["mode"]), found) for found in lines if found.get("work") == self.work]


def budget_seconds():
    return str(float(OPTIONS["--budget"]) / 1000)


def torch(work, dtype="f32", starts=False):
    if "torch" not in OPTIONS["--peers"]:
        return []
    python, threads, modes = torch_python(), str(len(os.sched_getaffinity(0))), OPTIONS["--modes"]
    command = [
        python,
        os.path.join(BENCH, "peer_torch.py"),
        "--what",
        work,
        "--modes",
        modes,
        "--dtype",
        dtype,
        "--threads",
        threads,
        "--budget",
        budget_seconds(),
        "--isolate",
    ]
    # All modes that compile generate nearly the same code, and each takes tens of seconds.
    started = ["eager", "compile"] if modes == "all" else modes.split(",")
    announced = {
        m: [
            python,
            os.path.join(BENCH, "peer_torch_start.py"),
            "--what",
            work,
            "--modes",
            m,
            "--dtype",
            dtype,
            "--threads",
            threads,
        ]
        for m in started
        if starts
    }
    return [Peer("torch", work, command, announced)]


def jax(work):
    if "jax" not in OPTIONS["--peers"]:
        return []
    return [
        Peer(
            "jax",
            work,
            [
                python_with("jax", f"jax=={JAX}"),
                os.path.join(BENCH, "peer_jax.py"),
                "--what",
                work,
                "--budget",
                budget_seconds(),
            ],
        )
    ]


def llama(work, *kinds):
    if "llama" not in OPTIONS["--peers"]:
        return []
    command = [
        llama_python(),
        os.path.join(BENCH, "peer_llama.py"),
        "--folder",
        os.path.join(BUILD, "gguf"),
        "--budget",
        budget_seconds(),
        "--weights",
    ]
    return [Peer("llama.cpp", work, [*command, kind]) for kind in kinds]
