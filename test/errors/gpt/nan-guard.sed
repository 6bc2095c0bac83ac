s/(sqrt D))/(sqrt (- D)))/
