s/(@ q (tr k))/(einsum "td,ds->ts" q k)/
