s/(reshape x \[T heads (\/\/ C heads)\])/(reshape x [T heads C])/
