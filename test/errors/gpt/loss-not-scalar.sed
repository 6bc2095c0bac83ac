s/^    (mean losses)))/    losses))/
