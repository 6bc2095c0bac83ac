s/(@ (join-heads/(@ (joinheads/
