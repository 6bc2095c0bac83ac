" Editing options for Sheaf
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=n:;
setlocal commentstring=;\ %s
setlocal expandtab
setlocal shiftwidth=2
setlocal softtabstop=2
setlocal iskeyword=@,33,35-38,42,43,45-58,60-64,94,95,124
setlocal suffixesadd=.shf
setlocal makeprg=sheaf\ check\ %:S
setlocal errorformat=%Eerror:\ %m,%Z\ -->\ %f:%l:%c,%-G%.%#

let b:undo_ftplugin = "setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< suffixesadd< iskeyword< makeprg< errorformat<"
