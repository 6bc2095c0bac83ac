" Indentation for Sheaf: Vim's Lisp indentation, with body forms indented by two columns
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1

setlocal autoindent
setlocal nosmartindent
setlocal lisp
setlocal indentexpr=
setlocal lispwords=def,defn,defn-,defmacro,deftest,defmodel,defbatch,fn,let,if,do,case,while,repeat,guard,as->,with-params,when,unless,cond,loop,for,doseq,try,catch

let b:undo_indent = "setlocal autoindent< smartindent< lisp< indentexpr< lispwords<"
