"""Programs of others: virtual environments made on first use, and the commands that run the peers' side of a row."""
import os
import subprocess
import sys

from settings import BENCH, JAX, OPTIONS, ROOT, TOKENIZERS, TORCH


def python_with(module, *packages, folder=".venv"):
    """Python of a virtual environment, in which `packages` are installed if `module` is missing."""
    python = os.path.join(ROOT, folder, "bin", "python")
    if subprocess.run([python, "-c", "import " + module], capture_output=True).returncode if os.path.exists(python) else True:
        print(f"installing {module} into {folder} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", os.path.join(ROOT, folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def torch_python():
    version = OPTIONS["--torch"]
    return python_with("torch", f"torch=={version}", "numpy", folder=".venv" if version == TORCH else f"build/torch-{version}")


def tokenizers_python():
    return python_with("tokenizers", f"tokenizers=={TOKENIZERS}")


def budget_seconds():
    return str(float(OPTIONS["--budget"]) / 1000)


def torch_command(work):
    return [torch_python(), os.path.join(BENCH, "peer_torch.py"), "--what", work, "--modes", OPTIONS["--modes"],
            "--threads", str(os.cpu_count()), "--budget", budget_seconds(), "--isolate"]


def jax_command(work):
    return [python_with("jax", f"jax=={JAX}"), os.path.join(BENCH, "peer_jax.py"), "--what", work, "--budget", budget_seconds()]
