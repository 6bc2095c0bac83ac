s/(@ q (tr k))/(@ q k)/
