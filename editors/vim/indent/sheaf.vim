" Indentation for Sheaf: bodies of special forms by two columns, arguments under the first argument, or by two columns
" when none is on the line of the name, elements of vectors and dicts under the first element. Lines inside strings stay
" as they are.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1

setlocal autoindent
setlocal nolisp
setlocal nosmartindent
setlocal indentexpr=SheafIndent()
setlocal indentkeys=!^F,o,O
let b:undo_indent = "setlocal autoindent< lisp< smartindent< indentexpr< indentkeys<"

if exists("*SheafIndent")
  finish
endif

" The forms that `sheaf fmt` indents as bodies; a test compares the two lists.
let s:body_forms = ["def", "defn", "defn-", "defmacro", "deftest", "defmodel", "defbatch", "fn", "let", "loop", "for",
      \ "doseq", "if", "when", "unless", "cond", "case", "do", "while", "repeat", "progress", "with-params", "try",
      \ "catch", "future"]

function! s:Skip() abort
  return synIDattr(synID(line("."), col("."), 1), "name") =~# "String\\|Escape\\|Placeholder\\|Comment"
endfunction

function! SheafIndent() abort
  call cursor(v:lnum, 1)
  " A string that is open at the end of the line above goes on here.
  if v:lnum > 1 && synIDattr(synID(v:lnum, 1, 1), "name") =~# "sheafString" && getline(v:lnum) !~# '^\(#r\)\="'
    return -1
  endif
  let [row, column] = searchpairpos('[([{]', '', '[])}]', 'bnW', 's:Skip()')
  if row == 0
    return 0
  endif
  let text = getline(row)
  if text[column - 1] !=# "("
    return column
  endif
  let head = matchstr(text, '^[^][ \t,;(){}"''`~]\+', column)
  if head ==# "" || head =~# '^[+-]\=\.\=\d'
    return column
  endif
  if index(s:body_forms, head) >= 0
    return column + 1
  endif
  let first = match(text, '\S', column + len(head))
  return first >= 0 && text[first] !=# ";" ? first : column + 1
endfunction
