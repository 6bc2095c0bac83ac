autocmd BufRead,BufNewFile *.shf setfiletype sheaf
