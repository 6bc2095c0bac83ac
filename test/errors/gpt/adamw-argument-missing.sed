s/(learning-rate t) 0.9 0.99 1e-8 0.1)/(learning-rate t) 0.9 0.99 1e-8)/
