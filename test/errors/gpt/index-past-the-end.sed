s/(nth keys i)/(nth keys (+ i 1))/
