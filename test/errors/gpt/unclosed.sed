s/(scan train-step state (random-split key steps)))/(scan train-step state (random-split key steps))/
