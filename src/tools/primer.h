// The text of sheaf-context.md, before the generated lists.
#pragma once

namespace sheaf::tools {

inline constexpr const char* kPrimer = R"PRIMER(# Sheaf for coding assistants

Sheaf is a Lisp for machine learning. Programs are `.shf` files; models are pure functions over nested dicts of
tensors; gradients, batching and random numbers are part of the language. Use this file as context when writing Sheaf.

## Running

```
sheaf prog.shf ARG…     run a program; (args) and (options {…}) see the words after its name
sheaf -c '(+ 1 2)'      evaluate an expression
sheaf                   the prompt
sheaf test FILE…        run deftest forms
sheaf check FILE…       list every error without running: syntax, unknown names, wrong arguments
sheaf fmt FILE…         re-indent
sheaf doc NAME          what a function does, with examples
```

The value of the last form is printed unless it is nil. Errors go to standard error with the place and the call stack;
the exit status is then 1. `--trace`, `--guard no-nan` and `--blame` show calls, find NaNs and measure time.

## Syntax and values

- `(f a b)` calls, `;` comments, commas are spaces. Types: int (64 bits), float (32 bits), bool, nil, string `"…"`
  (raw: `#r"\d+"`), keyword `:k`, tensor, list, tuple, dict, function.
- `[1 2 3]` is a **tensor of f32**, also with ints inside; `[[1 2] [3 4]]` a 2x2 tensor. A vector with anything but
  numbers is a list. `'[1 2 3]` is a **list of ints**; use it (or `[n m]`) for shapes.
- `[1 2] :i32` is a vector with a dtype: `f32 f64 bf16 f16 i32 i64 u32 bool i8 u8 i16 u16`. `(cast x :bf16)` converts.
- Dicts: `{:w 1 :b 2}`, keys iterate in alphabetical order. `(:w d)`, `(:w d 0)`,
  `(assoc d :w 3)`, `(get-in d [:a :b])`; a keyword is a function: `(map :w ds)`.
- False: `false`, `nil`, `0`, `0.0`. Everything else is true.
- Values never change. `atom`, `deref`, `reset!`, `swap!` are for state.
- `(/ 9 4)` is 2.25 (always a float), `(// 9 4)` 2, `(mod -1 5)` 4, `(** 5 2)` 25.0.

## Definitions and control

```clojure
(def rate 0.1)                                   ; global value
(defn area "Doc string." [w h] (* w h))          ; function; also (area :h 2 :w 3)
(fn [x] (* x x))    #(* % %)                     ; anonymous
(let [a 1 [b c] '[2 3] {:keys [d]} {:d 4}] …)    ; sequential, patterns
(if c a b) (cond c1 a c2 b :else c) (case x 0 "zero" 1 "one" "many") (when c …) (do …)
(repeat [i 10] [acc 0] (+ acc i))                ; i = 0…9; the body's value is the next acc
(while (< x 100) [x 1] (* x 2))
(loop [i 0] (if (< i 10) (recur (+ i 1)) i))
(for [x xs :when (> x 0)] (* x x))  (doseq [x xs] (print x))
(map f xs) (filter f xs) (reduce f init xs) (scan f init xs) (apply f args)
(-> x (f a) g) (->> xs (map f)) (as-> x v (f 1 v))
(try … (catch e (:message e))) (error "message")
(use model)  (use model :as m) (m/init …)        ; model.shf beside this file
```

## Tensors

```clojure
(zeros '[2 3]) (ones [n m]) (range 5) (arange 0 1 0.1) (eye 3) (random-normal key '[2 3])
(+ a b) (* a 2) (@ x w)                          ; broadcasting as in NumPy; @ is the matrix product
(sum x) (mean x :axis 0) (max x :axis -1 :keepdims) (softmax x :axis -1) (argmax x)
(reshape x '[2 -1]) (transpose x) (concat a b :axis 0) (stack (list a b))
(get x 0) (at x i (span 0 3) : ...)              ; elements of tensors come out as floats
(shape x) (dims x) (dtype x) (item x i)          ; shape is a tensor, dims a list of ints
(where (> x 0) x 0) (einsum "ij,jk->ik" a b) (one-hot idx n)
```

## Learning

```clojure
(defn model [x p]
  (with-params [p]                               ; free names are fields of p
    (+ (@ (relu (+ (@ x W1) b1)) W2) b2)))
(defn loss [p] (mse-loss (model X p) Y))
(let [[value gradient] ((value-and-grad loss) params)]
  (sgd-step params gradient 0.1))
```

`grad`, `value-and-grad` (`:argnums`, `:has-aux`), `vjp`, `jvp`, `jacobian`, `hessian`, `vmap`, `checkpoint` take
functions and give functions. Parameters may be any tree of dicts and lists; `tree-map` works leaf by leaf. The loss
must be a single number.

Random numbers need a key: `(random-key 42)`; `(random-split key 2)` makes new ones. The same key gives the same
numbers.

## Common mistakes

- `[1 2]` where a list of ints is meant: quote it, or `(list 1 2)`.
- `[a b]` of two tensors that are parameters or results is a list; `(stack (list a b))` joins them.
- `(cast [1 2] :i32)` reads as `(cast (cast [1 2] :i32))`; bind the vector to a name first, or write `[1 2] :i32`.
- Redefining a name in a file is an error. There is no `set!`, `return`, `import` or `lambda`: use `let`/`assoc`, the
  last expression, `use`, `fn`.
- A tensor of rank 1 or more is always true in `if`; use `any`, `all` or `item`.

)PRIMER";

}  // namespace sheaf::tools
