s/(@ (softmax masked) v)/(@ (softmax masked) v q)/
