s/(get config :heads)))\]/(config :heads)))]/
