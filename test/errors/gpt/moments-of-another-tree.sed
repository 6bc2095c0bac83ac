s/:m (tree-map-zeros p)/:m (tree-map-zeros (get p :blocks))/
