"""training.py bits|resume: the training of examples/nanogpt on a GPU, in f32, against the same one on the CPU.
bits: 200 steps on each; the checkpoints, with the losses on the way, are equal byte by byte.
resume: 50 steps, killed at random moments (SHEAF_SEED) and continued on the other device each time; what a training
that nobody killed leaves is equal byte by byte."""

import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KILLS = 8


def command(device, steps, path, every):
    program = [os.path.join(HERE, "sheaf"), "--device", device, "examples/nanogpt/nanogpt.shf", "--", "--data", "text"]
    return [*program, "--steps", str(steps), "--path", path, "--every", str(every), "--eval", "1", "--sample", "1"]


def whole(device, steps, path, every=1000):
    begin = time.monotonic()
    done = subprocess.run(command(device, steps, path, every), capture_output=True, text=True, cwd=HERE)
    if done.returncode != 0:
        sys.exit(f"{device}: status {done.returncode}\n{done.stderr[-2000:]}")
    return time.monotonic() - begin


def checkpoint(path, steps):
    with open(os.path.join(path, f"step-{steps:08d}.safetensors"), "rb") as file:
        return file.read()


def bits(folder):
    paths = {device: os.path.join(folder, device) for device in ("cuda", "cpu")}
    for device, path in paths.items():
        print(f"200 steps, {device}: {whole(device, 200, path):.1f} s")
    return checkpoint(paths["cuda"], 200) == checkpoint(paths["cpu"], 200)


def resume(folder):
    seed = int(os.environ.get("SHEAF_SEED", time.time_ns() % 1000000))
    print("seed", seed)
    moments = random.Random(seed)
    steps, every = 50, 3
    killed = os.path.join(folder, "killed")
    for device in ("cpu", "cuda"):
        whole(device, 2, os.path.join(folder, device), 1)  # leaves compiled code behind
    seconds = {device: whole(device, steps, os.path.join(folder, device), every) for device in ("cpu", "cuda")}
    print("seconds without being killed:", seconds)
    expected = checkpoint(os.path.join(folder, "cuda"), steps)
    for kill in range(KILLS):
        device = ("cuda", "cpu")[kill % 2]
        running = subprocess.Popen(command(device, steps, killed, every), stdout=subprocess.PIPE, cwd=HERE)
        try:
            running.wait(moments.uniform(0.2, 0.8) * seconds[device])
            print(f"{device}: ended before it was killed")
        except subprocess.TimeoutExpired:
            running.kill()
        out = running.communicate()[0].decode()
        print(device, *[line for line in out.splitlines() if line.startswith("continuing")] or ["from the beginning"])
    whole("cpu", steps, killed, every)
    return checkpoint(killed, steps) == expected


def main():
    with tempfile.TemporaryDirectory() as folder:
        same = {"bits": bits, "resume": resume}[sys.argv[1]](folder)
    print("the same bits" if same else "OTHER BITS")
    sys.exit(not same)


if __name__ == "__main__":
    main()
