s/(+ start length 1))\]/(+ start length))]/
