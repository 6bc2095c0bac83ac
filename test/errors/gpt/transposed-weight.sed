s/(@ (join-heads/(@ (tr (join-heads/; s/q k v)) (get p :Wo)/q k v))) (get p :Wo)/
