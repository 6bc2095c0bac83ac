s/(print "losses fell:"/(+ "losses fell: "/
