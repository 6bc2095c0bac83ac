s/{:Wq/{:wq/
