s/(layer-norm x p -1)/(layer-norm x p 2)/
