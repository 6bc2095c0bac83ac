"""What check_meaning.py, check_numbers.py and check_tensors.py share: running programs that were made with their
meaning."""

import subprocess
import sys
import tempfile


class PassedOver(Exception):
    """The program runs long or says nothing; another is as good."""


def check(make, agree, sheaf, first=0, last=1000, *flags):
    """make(seed) gives a program and what is expected of it, agree(lines, expected) says whether its output is that."""
    failures = passed_over = 0
    with tempfile.NamedTemporaryFile("w", suffix=".shf") as file:
        for seed in range(int(first), int(last)):
            try:
                text, expected = make(seed)
            except PassedOver:
                passed_over += 1
                continue
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            try:
                done = subprocess.run([sheaf, *flags, file.name], capture_output=True, text=True, timeout=120)
                lines, failed, errors = done.stdout.splitlines(), done.returncode != 0, done.stderr
            except subprocess.TimeoutExpired:
                lines, failed, errors = [], True, "took longer than two minutes\n"
            if failed or not agree(lines, expected):
                failures += 1
                print(f"seed {seed}: expected {expected}\ngot {lines}\n{errors}{text}\n", flush=True)
    print(f"{failures} failures, {passed_over} programs passed over")
    return failures > 0


def main(make, agree):
    sys.exit(check(make, agree, *sys.argv[1:]))
