s/(feed-forward p (normed (get p :norm2) x))/(feed-forward p (normed x (get p :norm2)))/
