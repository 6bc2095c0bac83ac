"""What peer_torch.py defines (rows, models, timing), without its run."""

import os

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_torch.py")


def definitions():
    """Its globals; its functions see changes made there. It takes its options from the command line."""
    with open(PEER) as f:
        text = f.read().split("# --- run ---")[0]
    found = {}
    exec(compile(text, PEER, "exec"), found)
    return found
