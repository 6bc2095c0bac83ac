;;; sheaf-mode.el --- Major mode for Sheaf  -*- lexical-binding: t; -*-

;; Version: 0.1
;; Package-Requires: ((emacs "26.1"))
;; Keywords: languages, lisp

;;; Commentary:

;; Colours, indentation and an inferior prompt for .shf files.
;; C-c C-z starts the prompt; C-c C-e sends the form before point, C-c C-c the definition around point,
;; C-c C-k the whole buffer.

;;; Code:

(require 'comint)
(require 'flymake)
(require 'json)
(require 'subr-x)

(defgroup sheaf nil
  "Editing Sheaf programs."
  :group 'languages)

(defcustom sheaf-program "sheaf"
  "The program that runs the Sheaf prompt."
  :type 'string
  :group 'sheaf)

(defconst sheaf-definition-forms
  '("def" "defn" "defn-" "defmacro" "deftest" "defmodel" "defbatch"))

(defconst sheaf-special-forms
  '("fn" "let" "if" "do" "case" "while" "repeat" "guard" "quote" "->" "->>" "as->" "use"
    "with-params" "value-and-grad" "and" "or" "when" "unless" "cond" "comment" "assert" "loop"
    "recur" "for" "doseq" "try" "catch" "time-it" "future" "await"))

(defconst sheaf-functions
  '("+" "-" "*" "/" "//" "mod" "%" "**" "abs" "ash" "exp" "log" "sqrt" "sin" "cos" "tan" "tanh"
    "round" "ceil" "floor" "@" "einsum" "=" "==" "!=" "<" ">" "<=" ">=" "not" "shape" "ndim" "len"
    "count" "int" "float" "cast" "zeros" "ones" "eye" "arange" "range" "one-hot" "tril" "tensor"
    "reshape" "transpose" "tr" "swapaxes" "slice" "dynamic-slice" "concat" "tensor-split" "roll"
    "flip" "index-update" "append-and-roll" "where" "normalize" "sum" "mean" "product" "min" "max"
    "var" "argmax" "argmin" "minimum" "maximum" "first" "second" "last" "rest" "nth" "cons" "append"
    "empty?" "chars" "index-of" "sort" "top_k" "map" "filter" "find" "reduce" "scan" "apply" "vmap"
    "tree-map" "tree-reduce" "tree-map-zeros" "flatten" "dict" "get" "get-in" "assoc" "dissoc"
    "merge" "keys" "vals" "print" "println" "str" "str-call" "gensym" "symbol?" "time"
    "stop-gradient" "random-key" "random-split" "random-uniform" "random-normal" "random-randint"
    "choice" "io" "grad" "vjp" "jvp" "jacobian" "hessian" "checkpoint" "custom-vjp" "list" "tuple"
    "zip" "enumerate" "partition" "group-by" "update" "update-in" "assoc-in" "zipmap" "contains?"
    "comp" "partial" "identity" "some" "every?" "take" "inc" "dec" "atom" "deref" "reset!" "swap!"
    "interrupted?" "args" "options" "exit" "env" "read-line" "now-ns" "error" "json-str" "json-read"
    "parse-int" "parse-float" "describe" "spy" "tap" "pp" "dtype" "type" "int?" "float?" "number?"
    "string?" "list?" "dict?" "tensor?" "fn?" "nil?" "is" "is-close" "throws" "equal?" "allclose"
    "dims" "item" "at" "at-set" "at-add" "span" "stack" "pad" "split" "take-along-axis"
    "scatter-add" "cumsum" "cumprod" "argsort" "sign" "clip" "isnan" "isinf" "erf" "expm1" "log1p"
    "atan2" "logsumexp" "outer" "std" "norm" "triu" "linspace" "full" "squeeze" "expand-dims"
    "broadcast-to" "tile" "moveaxis" "any" "all" "logical-and" "logical-or" "logical-not"
    "logical-xor" "conv1d" "conv2d" "conv-transpose" "max-pool" "avg-pool" "upsample" "nonzero"
    "mark-dynamic" "mark-static" "check" "random-fold-in" "random-permutation" "random-bernoulli"
    "random-categorical" "random-truncated-normal" "relu" "sigmoid" "silu" "gelu" "leaky-relu"
    "selu" "celu" "softmax" "log-softmax" "linear" "dropout" "layer-norm" "rms-norm" "batch-norm"
    "group-norm" "embedding" "gru-cell" "lstm-cell" "rope" "attention" "kv-cache" "cached-attention"
    "cross-entropy-loss" "mse-loss" "mae-loss" "clamp" "xavier-uniform" "xavier-normal"
    "kaiming-uniform" "kaiming-normal" "lecun-uniform" "lecun-normal" "sgd-step" "sgd-momentum-step"
    "adam-step" "adamw-step" "global-norm" "clip-by-global-norm" "linear-warmup"
    "inverse-sqrt-warmup" "exponential-decay" "step-decay" "cosine-decay" "random-range"))

(defvar sheaf-mode-syntax-table
  (let ((table (make-syntax-table)))
    (dolist (c (string-to-list "!#$%&*+-./:<=>?@^_|"))
      (modify-syntax-entry c "_" table))
    (modify-syntax-entry ?\; "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?, " " table)
    (modify-syntax-entry ?\' "'" table)
    (modify-syntax-entry ?` "'" table)
    (modify-syntax-entry ?~ "'" table)
    (modify-syntax-entry ?\( "()" table)
    (modify-syntax-entry ?\) ")(" table)
    (modify-syntax-entry ?\[ "(]" table)
    (modify-syntax-entry ?\] ")[" table)
    (modify-syntax-entry ?\{ "(}" table)
    (modify-syntax-entry ?\} "){" table)
    table)
  "Syntax table of `sheaf-mode'.")

(defconst sheaf-syntax-propertize
  (syntax-propertize-rules
   ;; A raw string, #r"...", ends at the first quote; a backslash in it is an ordinary character.
   ("\\_<#r\\(\"\\)\\([^\"]*\\)\\(\"\\)"
    (1 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax "|")))
    (2 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax "w")))
    (3 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax "|")))))
  "Marks raw strings.")

(defconst sheaf-font-lock-keywords
  `((,(concat "(" (regexp-opt sheaf-definition-forms t) "\\_>[ \t\n]+\\(\\(?:\\sw\\|\\s_\\)+\\)")
     (1 font-lock-keyword-face)
     (2 font-lock-function-name-face))
    (,(concat "(" (regexp-opt sheaf-special-forms t) "\\_>")
     (1 font-lock-keyword-face))
    ("\\_<:\\(?:\\sw\\|\\s_\\)*" . font-lock-constant-face)
    ("\\_<\\(?:true\\|false\\|nil\\)\\_>" . font-lock-constant-face)
    (,(regexp-opt sheaf-functions 'symbols) . font-lock-builtin-face))
  "Colours of `sheaf-mode'.")

;; The forms that `sheaf fmt' indents as bodies; a test compares the two lists.
(defconst sheaf-body-forms
  '("def" "defn" "defn-" "defmacro" "deftest" "defmodel" "defbatch" "fn" "let" "loop" "for" "doseq"
    "if" "when" "unless" "cond" "case" "do" "while" "repeat" "progress" "with-params" "try" "catch"
    "future"))

(defun sheaf-indentation ()
  "Column at which `sheaf fmt' starts the current line; nil inside a string."
  (save-excursion
    (beginning-of-line)
    (let* ((state (syntax-ppss))
           (open (nth 1 state)))
      (cond
       ((nth 3 state) nil)
       ((null open) 0)
       (t
        (goto-char open)
        (let ((column (current-column)))
          (forward-char)
          (cond
           ((memq (char-before) '(?\[ ?\{)) (1+ column))
           ((looking-at "[][(){}\"'`~0-9;]\\|[ \t,]*$") (1+ column))
           ((looking-at (concat (regexp-opt sheaf-body-forms) "\\_>")) (+ column 2))
           (t
            (skip-syntax-forward "w_")
            (skip-chars-forward " \t,")
            (if (looking-at ";\\|$") (+ column 2) (current-column))))))))))

(defun sheaf-indent-line ()
  "Indent the current line as `sheaf fmt' does."
  (interactive)
  (let ((column (sheaf-indentation))
        (from-end (- (point-max) (point))))
    (if (null column)
        'noindent
      (indent-line-to column)
      ;; Point stays where it was in the text.
      (when (> (- (point-max) from-end) (point))
        (goto-char (- (point-max) from-end))))))

(defun sheaf-run ()
  "Start or show the Sheaf prompt."
  (interactive)
  (pop-to-buffer (make-comint "sheaf" sheaf-program)))

(defun sheaf-send-region (start end)
  "Send the text from START to END to the Sheaf prompt."
  (interactive "r")
  (unless (comint-check-proc "*sheaf*")
    (save-window-excursion (sheaf-run)))
  (comint-send-string "*sheaf*" (concat (string-trim (buffer-substring-no-properties start end)) "\n")))

(defun sheaf-send-last-form ()
  "Send the form before point to the Sheaf prompt."
  (interactive)
  (sheaf-send-region (save-excursion (backward-sexp) (point)) (point)))

(defun sheaf-send-definition ()
  "Send the top-level form around point to the Sheaf prompt."
  (interactive)
  (save-excursion
    (end-of-defun)
    (let ((end (point)))
      (beginning-of-defun)
      (sheaf-send-region (point) end))))

(defun sheaf-send-buffer ()
  "Send the whole buffer to the Sheaf prompt."
  (interactive)
  (sheaf-send-region (point-min) (point-max)))

(defvar-local sheaf--check nil
  "The check of this buffer that is under way.")

(defun sheaf--diagnostics (source)
  "Flymake's form of the errors of the buffer SOURCE.
The current buffer lists them, a JSON object on each line."
  (let (found)
    (goto-char (point-min))
    (while (not (eobp))
      (let* ((json-object-type 'alist)
             (error (json-read))
             (end (alist-get 'end error))
             (place (lambda (at)
                      (with-current-buffer source
                        (save-excursion
                          (goto-char (point-min))
                          (forward-line (1- (alist-get 'line at)))
                          (min (point-max) (+ (point) (1- (alist-get 'column at)))))))))
        (when (equal (alist-get 'file error) "<stdin>")
          (push (flymake-make-diagnostic source (funcall place error) (max (funcall place end)
                                                                           (1+ (funcall place error)))
                                         :error (alist-get 'message error))
                found)))
      (forward-line))
    found))

(defun sheaf-flymake (report &rest _)
  "Hand the errors that `sheaf check' finds in this buffer to the function REPORT."
  (when (process-live-p sheaf--check)
    (kill-process sheaf--check))
  (let ((source (current-buffer)))
    (setq sheaf--check
          (make-process
           :name "sheaf-check" :noquery t :connection-type 'pipe
           :buffer (generate-new-buffer " *sheaf-check*")
           :command (list sheaf-program "check" "--json" "-")
           :sentinel
           (lambda (process _)
             (when (memq (process-status process) '(exit signal))
               (when (and (buffer-live-p source) (eq process (buffer-local-value 'sheaf--check source)))
                 (with-current-buffer (process-buffer process)
                   (funcall report (sheaf--diagnostics source))))
               (kill-buffer (process-buffer process))))))
    (process-send-region sheaf--check (point-min) (point-max))
    (process-send-eof sheaf--check)))

(defvar sheaf-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-z") #'sheaf-run)
    (define-key map (kbd "C-c C-e") #'sheaf-send-last-form)
    (define-key map (kbd "C-c C-c") #'sheaf-send-definition)
    (define-key map (kbd "C-c C-r") #'sheaf-send-region)
    (define-key map (kbd "C-c C-k") #'sheaf-send-buffer)
    map)
  "Keys of `sheaf-mode'.")

;;;###autoload
(define-derived-mode sheaf-mode prog-mode "Sheaf"
  "Major mode for Sheaf programs."
  (setq-local comment-start "; ")
  (setq-local comment-start-skip ";+ *")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'sheaf-indent-line)
  (setq-local syntax-propertize-function sheaf-syntax-propertize)
  (add-hook 'flymake-diagnostic-functions #'sheaf-flymake nil t)
  (setq-local font-lock-defaults '(sheaf-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.shf\\'" . sheaf-mode))

(provide 'sheaf-mode)

;;; sheaf-mode.el ends here
