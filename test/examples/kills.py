#!/usr/bin/env python3
"""Trains the examples with tiny options and stops them at random moments, again and again: however often that happens,
the newest checkpoint, the pictures and what is printed at the end must be those of a run that nobody stopped.

    test/examples/kills.py PATH-OF-SHEAF [--kills 20] [--seed N] [NAME…]

Each of the programs is stopped so often by SIGKILL at a random moment, so often by SIGKILL while it writes a
checkpoint, and a quarter as often each by SIGINT and by SIGTERM, which must end it with status 130 and 143. They save
after every step or two, so many of the random moments are inside a save as well. The seed of the moments is printed.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
NAMES = str(EXAMPLES / "makemore" / "names.txt")


def makemore(kind):
    return [
        "makemore/makemore.shf",
        "--model",
        kind,
        "--data",
        NAMES,
        "--width",
        "16",
        "--layers",
        "1",
        "--samples",
        "2",
        "--steps",
        "60",
    ]


PROGRAMS = {
    "nanogpt": [
        "nanogpt/nanogpt.shf",
        "--data",
        "../text",
        "--batch",
        "2",
        "--sample",
        "10",
        "--eval",
        "1",
        "--steps",
        "40",
    ],
    "nanogpt-bpe": [
        "nanogpt/nanogpt.shf",
        "--data",
        "../text",
        "--bpe",
        "270",
        "--batch",
        "2",
        "--sample",
        "10",
        "--eval",
        "1",
        "--steps",
        "40",
    ],
    "gpt2": [
        "gpt2/finetune.shf",
        "--model",
        "../gpt2",
        "--data",
        "../text",
        "--context",
        "16",
        "--batch",
        "2",
        "--lr",
        "3e-2",
        "--steps",
        "60",
    ],
    "gpt2-new": [
        "gpt2/finetune.shf",
        "--size",
        "tiny",
        "--data",
        "../text",
        "--context",
        "16",
        "--batch",
        "2",
        "--steps",
        "40",
    ],
    **{"makemore-" + kind: makemore(kind) for kind in ("bigram", "mlp", "bow", "rnn", "gru", "lstm", "transformer")},
    "olmo2": ["olmo2/train.shf", "--model", "../olmo2", "../prompt.bin", "--lr", "0.01", "--steps", "40"],
    "cnn": ["cnn/cnn.shf", "--channels", "4", "--batch", "8", "--steps", "60"],
    "vae": ["vae/vae.shf", "--width", "16", "--batch", "8", "--steps", "60"],
    "jepa": ["jepa/jepa.shf", "--channels", "4", "--features", "8", "--batch", "8", "--labels", "20", "--steps", "60"],
    "two-tower": ["two-tower/two-tower.shf", "--people", "50", "--things", "40", "--batch", "16", "--steps", "60"],
    "moe": ["moe/moe.shf", "--width", "16", "--hidden", "8", "--heads", "2", "--batch", "4", "--steps", "60"],
    "drgrpo": ["drgrpo/drgrpo.shf", "--width", "8", "--questions", "4", "--group", "4", "--steps", "30"],
}


class Example:
    def __init__(self, sheaf, name, scratch):
        program, *options = PROGRAMS[name]
        self.name, self.scratch = name, scratch
        self.command = [
            sheaf,
            str(EXAMPLES / program),
            "--",
            *options,
            "--every",
            "1",
            "--path",
            "run",
            "--plot",
            "curve.svg",
        ]
        self.whole = self.results(self.end(self.start("whole")))
        # Runs again with the compiled code on disk: the time that later runs take.
        begin = time.monotonic()
        self.compare(self.end(self.start("again")), "nothing at all")
        self.seconds = time.monotonic() - begin

    def start(self, folder):
        at = self.scratch / folder
        at.mkdir(exist_ok=True)
        out = open(at / "out", "w")
        return subprocess.Popen(self.command, cwd=at, stdout=out, stderr=subprocess.STDOUT), at

    def end(self, started):
        process, at = started
        status = process.wait(300)
        if status != 0:
            sys.exit(f"{self.name}: ended with status {status}\n{(at / 'out').read_text()}")
        return at

    def results(self, at):
        """What must not depend on stops: the newest checkpoint, pictures, the lines that do not tell how far it is, or
        whence it continues."""
        newest = max(p for p in (at / "run").iterdir() if p.name.startswith("step-"))
        telling = re.compile(r" *\d+/\d+ |continuing from step |finished at step ")
        lines = [l for l in (at / "out").read_text().splitlines() if not telling.match(l)]
        return {
            newest.name: newest.read_bytes(),
            "printed": lines,
            **{p.name: p.read_bytes() for p in at.iterdir() if p.suffix in (".svg", ".png")},
        }

    def compare(self, at, how):
        for name, value in self.results(at).items():
            if value != self.whole.get(name):
                detail = "" if name != "printed" else "\n" + "\n".join(value)
                sys.exit(f"{self.name}: {name} is different after {how}; it is in {at}{detail}")
        left = [p.name for p in (at / "run").iterdir() if not p.name.startswith("step-")]
        if left:
            sys.exit(f"{self.name}: {how} left {left} in {at}")


def at_random(example, rng):
    """Waits for a moment at which a run may be anywhere, its start and its end too."""
    moment = time.monotonic() + rng.uniform(0, example.seconds)

    def wait(process, at):
        while process.poll() is None and time.monotonic() < moment:
            time.sleep(0.0005)

    return wait


def inside_save(example, rng):
    """Waits until some file of a save is there under the name it has while it is written."""
    skip = rng.randrange(1, 12)

    def wait(process, at):
        seen = set()
        while process.poll() is None:
            try:
                seen.update(n for n in os.listdir(at / "run") if not n.startswith("step-"))
            except FileNotFoundError:
                pass
            if len(seen) >= skip:
                return

    return wait


def stop_often(example, number, sign, moment, rng, label):
    """Stops runs `number` times in all, each until it has come to its end."""
    stops = runs = 0
    while stops < number:
        runs += 1
        folder, whole = f"{label}-{runs}", True
        while True:
            begin = time.monotonic()
            process, at = example.start(folder)
            # After enough stops the last run may finish.
            if stops < number:
                moment(example, rng)(process, at)
                process.send_signal(sign)
            status = process.wait(300)
            if status == 0:
                # On a busy machine the first measurement may be far too long.
                if whole:
                    example.seconds = min(example.seconds, time.monotonic() - begin)
                break
            whole = False
            # Before the program has installed its handler, the system itself ends the process: a shell shows 130 then
            # too.
            if status != -sign and (sign == signal.SIGKILL or status != 128 + sign):
                sys.exit(f"{example.name}: {label} ended it with status {status}\n{(at / 'out').read_text()}")
            stops += 1
        example.compare(at, f"{label}, run {runs}")
    return stops, runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sheaf")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    sheaf = str(pathlib.Path(args.sheaf).resolve())
    for name in args.names or PROGRAMS:
        rng = random.Random(f"{args.seed} {name}")
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            os.environ["HOME"] = folder
            (scratch / "text").write_text("the quick brown fox jumps over the lazy dog. " * 40)
            (scratch / "prompt.bin").write_bytes(b"R\0\0\0L\0\0\0@\0\0\0K\0\0\0")
            subprocess.run([sheaf, str(HERE / "make-models.shf")], cwd=scratch, check=True)
            example = Example(sheaf, name, scratch)
            kills = stop_often(example, args.kills, signal.SIGKILL, at_random, rng, "SIGKILL")
            saves = stop_often(example, args.kills, signal.SIGKILL, inside_save, rng, "SIGKILL inside a save")
            few = max(1, args.kills // 4)
            breaks = stop_often(example, few, signal.SIGINT, at_random, rng, "SIGINT")
            ends = stop_often(example, few, signal.SIGTERM, at_random, rng, "SIGTERM")
            print(
                f"ok {name}: "
                + ", ".join(
                    f"{stops} {what} in {runs} runs"
                    for what, (stops, runs) in (
                        ("kills", kills),
                        ("kills inside a save", saves),
                        ("interrupts", breaks),
                        ("terminations", ends),
                    )
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
