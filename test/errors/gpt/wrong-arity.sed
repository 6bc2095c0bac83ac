s/(normed (get p :norm1) x) (get config :heads))/(normed (get p :norm1) x))/
