s/(random-normal kt \[vocab width\])/(random-normal 0.02 [vocab width])/
