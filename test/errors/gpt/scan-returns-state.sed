s/^    \[(update-params state grads) loss\]))/    (update-params state grads)))/
