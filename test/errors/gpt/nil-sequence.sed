s/(get p :blocks))$/(get p :block))/
