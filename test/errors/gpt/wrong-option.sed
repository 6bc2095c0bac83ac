s/(softmax masked)/(softmax masked :dim -1)/
